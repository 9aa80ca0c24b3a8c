import { isDeepStrictEqual } from 'node:util'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { afterAll, describe, expect, test } from 'vitest'
import {
  cancel,
  defineJob,
  discardOn,
  retryOn,
  Sluice,
  SluiceError,
  snooze,
  type JobDefinition,
  type JobOutcome,
} from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { drained, jobWorker, type JobWorker } from '../support/jobs.ts'
import { badKeys, badNames, badTexts, oddTexts, oddValues, sqlTexts, thrown } from './bad-input-corpus.ts'

type Args = { value: unknown }
const args: StandardSchemaV1<Args, Args> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Args }) },
}

let cases = 0
afterAll(() => void process.stdout.write(`bad input: ${cases} cases\n`))

/** A job that remembers what it was given. */
function taking(name = 'take'): { take: JobDefinition<Args>; got: Map<number, unknown> } {
  const got = new Map<number, unknown>()
  const take = defineJob({
    name,
    args,
    retry: false,
    perform: ({ args: given, job }) => void got.set(job.id, given.value),
  })
  return { take, got }
}

/** What became of an attempt to enqueue: a refusal in clear words, or ids. */
async function tried(enqueue: () => Promise<{ id: number }[]>): Promise<{ ids: number[] } | { code: string }> {
  cases += 1
  try {
    return { ids: (await enqueue()).map(({ id }) => id) }
  } catch (error) {
    expect(error).toBeInstanceOf(SluiceError)
    const { code, message } = error as SluiceError
    expect(message).toMatch(/^[\s\S]{20,2000}$/)
    expect(message.isWellFormed()).toBe(true)
    return { code }
  }
}

const jobsIn = (db: TestDatabase): Promise<number> => db.value('select count(*)::int from sluice.job')

/** Lets a worker do all there is, and checks that nothing is left: no job, no claim, no lock. */
async function finish(db: TestDatabase, { sluice }: JobWorker): Promise<void> {
  await sluice.start()
  await drained(db)
  await sluice.stop()
  expect(await db.query('select * from sluice.job_claim')).toEqual([])
  expect(await db.query('select * from sluice.job_lock')).toEqual([])
}

describe.each(['enqueue', 'enqueueMany'] as const)('args given to %s', (verb) => {
  test('are refused before anything is written, or reach the handler unchanged', { timeout: 60_000 }, async () => {
    await using db = await testDatabase()
    const { take, got } = taking()
    await using worker = jobWorker(db, [take])
    const { jobs } = worker
    const due = new Map<number, unknown>()
    for (const { name, make, gives } of oddValues) {
      const before = await jobsIn(db)
      const outcome = await tried(async () =>
        verb === 'enqueue'
          ? [await jobs.enqueue(take, { value: make() })]
          : jobs.enqueueMany(take, [{ value: 'before' }, { value: make() }]),
      )
      if (gives === undefined) {
        expect(outcome, name).toEqual({ code: 'ARGS_INVALID' })
        expect(await jobsIn(db), name).toBe(before)
      } else {
        if (!('ids' in outcome)) throw new Error(`${name} was refused`)
        due.set(outcome.ids.at(-1) ?? 0, gives())
      }
    }
    await finish(db, worker)
    for (const [id, value] of due) expect(isDeepStrictEqual(got.get(id), value), JSON.stringify(value)).toBe(true)
    expect(due.size).toBeGreaterThan(20)
  })
})

test('what SQL gives to sluice.enqueue is refused in clear words, or reaches the handler unchanged', async () => {
  await using db = await testDatabase()
  const { take, got } = taking()
  await using worker = jobWorker(db, [take])
  const due: [id: number, value: unknown][] = []
  for (const [name, text, ...gives] of sqlTexts) {
    cases += 1
    const before = await jobsIn(db)
    const outcome = await db
      .query<{ id: string }>('select id from sluice.enqueue($1)', [text])
      .catch((error: Error & { code?: string }) => error)
    if (gives.length === 0) {
      expect(outcome, name).toMatchObject({
        code: expect.stringMatching(/^(22|54)/),
        message: expect.stringMatching(/^.{10,}/),
      })
      expect(await jobsIn(db), name).toBe(before)
    } else {
      if (outcome instanceof Error) throw new Error(`${name}: ${outcome.message}`)
      due.push([Number(outcome[0]?.id), gives[0]])
    }
  }
  await finish(db, worker)
  for (const [id, value] of due) expect(JSON.stringify(got.get(id))).toBe(JSON.stringify(value))
})

describe('keys', () => {
  test.each(['unique', 'concurrency'] as const)(
    'of %s are refused or kept as they are',
    { timeout: 60_000 },
    async (kind) => {
      await using db = await testDatabase()
      let key: unknown
      const ran: unknown[] = []
      const keyed = defineJob({
        name: 'keyed',
        args,
        ...(kind === 'unique' ? { unique: { key: () => key as string } } : {}),
        ...(kind === 'concurrency' ? { concurrency: { limit: 1, key: () => key as string } } : {}),
        perform: ({ args: { value } }) => void ran.push(value),
      })
      await using worker = jobWorker(db, [keyed])
      const enqueue = (value: unknown) => tried(async () => [await worker.jobs.enqueue(keyed, { value })])
      for (const [name, bad] of badKeys) {
        key = bad
        expect(await enqueue(name), name).toEqual({ code: 'ENQUEUE_INVALID' })
      }
      expect(await jobsIn(db)).toBe(0)
      for (const [name, text] of oddTexts) {
        key = text
        expect(await enqueue(name), name).toHaveProperty('ids')
      }
      const stored = kind === 'unique' ? 'select key from sluice.job_lock' : 'select key from sluice.job'
      const keys = (await db.query<{ key: string }>(stored)).map((row) => row.key)
      expect(keys.toSorted()).toEqual(oddTexts.map(([, text]) => text).toSorted())
      await finish(db, worker)
      expect(ran.toSorted()).toEqual(oddTexts.map(([name]) => name).toSorted())
    },
  )

  test('that computing fails end in the error of the one who computes them', async () => {
    await using db = await testDatabase()
    const wrong = (): never => {
      throw new RangeError('no key today')
    }
    const keyed = defineJob({ name: 'keyed', args, unique: { key: wrong }, perform: () => undefined })
    await using worker = jobWorker(db, [keyed])
    cases += 1
    await expect(worker.jobs.enqueue(keyed, { value: 1 })).rejects.toThrow('no key today')
    expect(await jobsIn(db)).toBe(0)
  })
})

test('tags are refused or kept as they are', async () => {
  await using db = await testDatabase()
  const { take } = taking()
  await using worker = jobWorker(db, [take])
  const enqueue = (tags: unknown) =>
    tried(async () => [await worker.jobs.enqueue(take, { value: 1 }, { tags: tags as string[] })])
  for (const [name, bad] of badKeys) expect(await enqueue(['good', bad]), name).toEqual({ code: 'ENQUEUE_INVALID' })
  for (const bad of ['text', 7, {}, Array.from({ length: 21 }, () => 't')]) {
    expect(await enqueue(bad)).toEqual({ code: 'ENQUEUE_INVALID' })
  }
  expect(await jobsIn(db)).toBe(0)
  for (const [, text] of oddTexts) {
    const outcome = await enqueue([text])
    if (!('ids' in outcome)) throw new Error(`${text} was refused`)
    expect((await worker.jobs.get(outcome.ids[0] ?? 0)).tags).toEqual([text])
    const { jobs } = await worker.jobs.list({ tag: text })
    expect(jobs.map(({ id }) => id)).toEqual(outcome.ids)
  }
  await finish(db, worker)
})

test('names of queues, jobs and priorities that are none are refused', async () => {
  await using db = await testDatabase()
  const { take } = taking()
  await using worker = jobWorker(db, [take])
  const { jobs } = worker
  for (const [name, bad] of badNames) {
    const value = bad as never
    if (bad !== null) {
      const queue = await tried(async () => [await jobs.enqueue(take, { value: 1 }, { queue: value })])
      expect(queue, `queue: ${name}`).toEqual({ code: 'QUEUE_INVALID' })
      const priority = await tried(async () => [await jobs.enqueue(take, { value: 1 }, { priority: value })])
      expect(priority, `priority: ${name}`).toEqual({ code: 'ENQUEUE_INVALID' })
    }
    const defined = await tried(async () => [defineJob({ name: value, perform: () => undefined }) as never])
    expect(defined, `job: ${name}`).toEqual({ code: 'DEFINITION_INVALID' })
    const within = await tried(async () => [defineJob({ name: 'x', queue: value, perform: () => undefined }) as never])
    expect(within, `queue of a job: ${name}`).toEqual({ code: 'DEFINITION_INVALID' })
    const paused = await tried(async () => [(await worker.sluice.queues.pause(value)) as never])
    expect(paused, `paused queue: ${name}`).toEqual({ code: 'QUEUE_INVALID' })
  }
  expect(await jobsIn(db)).toBe(0)
})

test('times that are none are refused', async () => {
  await using db = await testDatabase()
  const { take, got } = taking()
  await using worker = jobWorker(db, [take])
  const enqueue = (options: object) => tried(async () => [await worker.jobs.enqueue(take, { value: 1 }, options)])
  for (const wait of ['', 'soon', '-1s', '5 parsecs', -1, Number.NaN, Infinity, 1e300, 1n, {}, '999999999d']) {
    expect(await enqueue({ in: wait }), String(wait)).toEqual({ code: 'ENQUEUE_INVALID' })
  }
  for (const at of [new Date('never'), new Date(8.64e15), new Date(0), 7, '2030-01-01', {}]) {
    expect(await enqueue({ at }), String(at)).toEqual({ code: 'ENQUEUE_INVALID' })
  }
  expect(await enqueue({ in: '1s', at: new Date() })).toEqual({ code: 'ENQUEUE_INVALID' })
  expect(await jobsIn(db)).toBe(0)
  // Half a year ago is a time, and more milliseconds than an integer of the database holds.
  expect(await enqueue({ at: new Date(Date.now() - 180 * 86_400_000) })).toHaveProperty('ids')
  await finish(db, worker)
  expect(got.size).toBe(1)
})

test('whatever a handler throws is written down, and the job ends', { timeout: 60_000 }, async () => {
  await using db = await testDatabase()
  const blowing = (name: string, transaction: boolean): JobDefinition<Args> =>
    defineJob({
      name,
      args,
      retry: { attempts: 2, wait: 1 },
      transaction,
      perform({ args: { value } }: { args: Args }) {
        throw thrown[value as number]?.[1]()
      },
    } as never)
  const [plain, within] = [blowing('plain', false), blowing('within', true)]
  await using worker = jobWorker(db, [plain, within])
  for (const at of thrown.keys()) {
    cases += 2
    await worker.jobs.enqueue(plain, { value: at })
    await worker.jobs.enqueue(within, { value: at })
  }
  await finish(db, worker)
  const dead = await db.query<{ outcome: string; attempt: number; size: number; value: number }>(
    `select outcome, attempt, octet_length(error::text) as size, (args ->> 'value')::int as value from sluice.job_dead`,
  )
  expect(dead).toHaveLength(2 * thrown.length)
  for (const row of dead) {
    expect(row, thrown[row.value]?.[0]).toMatchObject({ outcome: 'dead', attempt: 2 })
    expect(row.size, thrown[row.value]?.[0]).toBeGreaterThan(20)
    expect(row.size, thrown[row.value]?.[0]).toBeLessThan(60_000)
  }
})

test('whatever a handler returns ends its attempt, with a reason that can be stored', async () => {
  await using db = await testDatabase()
  const long = 'r'.repeat(20_000_000)
  const reasons: unknown[] = [...oddTexts, ...badTexts].map(([, text]) => text)
  const outcomes: (() => unknown)[] = [
    ...[...reasons, long, '', undefined, 7, Symbol('r'), {}].flatMap((reason) => [
      () => cancel(reason as string),
      () => snooze(1, reason as string),
    ]),
    () => 5n,
    () => Symbol('result'),
    () =>
      new Proxy(
        {},
        {
          has: () => {
            throw new Error('no reading here')
          },
        },
      ),
    () => long,
    () => ({ then: 7 }),
    () => new Map(),
    () => snooze(1e300),
    () => snooze('999999999d'),
  ]
  const once = new Set<number>()
  const returning = defineJob({
    name: 'returning',
    args,
    retry: { attempts: 2, wait: 1 },
    perform({ args: { value }, job }) {
      if (once.has(job.id)) return
      once.add(job.id)
      return outcomes[value as number]?.() as JobOutcome
    },
  })
  await using worker = jobWorker(db, [returning])
  for (const at of outcomes.keys()) {
    cases += 1
    await worker.jobs.enqueue(returning, { value: at })
  }
  // What snoozes for longer than anybody lives is not waited for.
  await using sluice = new Sluice({ database: db.url })
  worker.events.event('job.snoozed', { nth: reasons.length + 8, limitMs: 20_000 }).then(
    async () => {
      const { jobs } = await sluice.jobs.list({ states: ['scheduled'] })
      for (const { id } of jobs) await sluice.jobs.cancel(id)
    },
    () => undefined,
  )
  await finish(db, worker)
  expect(once.size).toBe(outcomes.length)
  const kept = await db.query<{ reason: string }>(`select reason from sluice.job_dead where outcome = 'cancelled'`)
  for (const [name, text] of oddTexts)
    expect(
      kept.map(({ reason }) => reason),
      name,
    ).toContain(text)
  expect(Math.max(...kept.map(({ reason }) => reason.length))).toBeLessThan(10_000)
})

test('an error policy that fails itself still ends the job', async () => {
  await using db = await testDatabase()
  const wrong = (): never => {
    throw new Error('the policy is broken')
  }
  const waits: unknown[] = [
    wrong,
    ...[Number.NaN, -1, Infinity, 1e300, 'soon', null, undefined, 1n, {}].map((wait) => () => wait),
  ]
  const policies: Parameters<typeof defineJob>[0][] = [
    ...waits.map((wait) => ({ onError: [retryOn(Error, { attempts: 2, wait: wait as never })] })),
    { onError: [retryOn(wrong, { attempts: 2, wait: 1 })] },
    { onError: [discardOn(wrong)] },
    { onError: [retryOn(String.fromCharCode(0), 'Error', { attempts: 2, wait: 1 })] },
    { onError: [retryOn('\uD83D', 'Error', { attempts: 2, wait: 1 })] },
  ] as never[]
  const jobs = policies.map((policy, i) =>
    defineJob({
      retry: { attempts: 2, wait: 1 },
      ...policy,
      name: `policy-${i}`,
      perform: () => {
        throw new Error('failed')
      },
    }),
  )
  await using worker = jobWorker(db, jobs)
  for (const job of jobs) {
    cases += 1
    await worker.jobs.enqueue(job)
  }
  await worker.sluice.start()
  await worker.events.event('job.retried', { nth: jobs.length - 1 })
  const { jobs: late } = await worker.jobs.list({ states: ['scheduled'] })
  for (const { id } of late) await worker.jobs.run(id).catch(() => undefined)
  await drained(db)
  const ends = await db.query<{ outcome: string }>('select distinct outcome from sluice.job_dead')
  expect(ends).toEqual([{ outcome: 'dead' }])
})

test('odd texts for those who look for jobs and end them find nothing, or what they name', async () => {
  await using db = await testDatabase()
  const { take } = taking()
  await using worker = jobWorker(db, [take])
  const { jobs } = worker
  for (const [name, text] of [...oddTexts, ...badTexts]) {
    for (const query of [{ name: text }, { queue: text }, { tag: text }]) {
      cases += 1
      expect((await jobs.list(query)).jobs, name).toEqual([])
    }
    expect(await jobs.unlock(text, text), name).toBe(false)
    expect(await jobs.locks({ name: text }), name).toEqual([])
    const { id } = await jobs.enqueue(take, { value: 1 })
    const { reason } = await jobs.cancel(id, { reason: text })
    if (oddTexts.some(([, odd]) => odd === text)) expect(reason, name).toBe(text)
    cases += 3
  }
  for (const id of [0, -1, 1.5, Number.NaN, Infinity, 2 ** 53, '1', null, {}, 1n] as number[]) {
    expect(await tried(async () => [await jobs.get(id)]), String(id)).toEqual({ code: 'JOB_NOT_FOUND' })
    expect(await tried(async () => [await jobs.cancel(id)]), String(id)).toEqual({ code: 'JOB_NOT_FOUND' })
  }
})
