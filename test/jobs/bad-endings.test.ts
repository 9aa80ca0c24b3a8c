import { expect, test } from 'vitest'
import { cancel, defineJob, discardOn, retryOn, snooze, type JobDefinition, type JobOutcome } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { drained, jobWorker } from '../support/jobs.ts'
import { args, count, finish, sayCount, taking, tried, type Args } from './bad-input-cases.ts'
import { badTexts, oddTexts, thrown } from './bad-input-corpus.ts'

sayCount()

const failing = (): never => {
  throw new Error('the policy is broken')
}

/** A job that throws what the corpus has at the place that its args name. */
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

test('whatever a handler throws is written down, and the job ends', async () => {
  await using db = await testDatabase()
  const [plain, within] = [blowing('plain', false), blowing('within', true)]
  await using worker = jobWorker(db, [plain, within])
  for (const at of thrown.keys()) {
    count(2)
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
    count()
    await worker.jobs.enqueue(returning, { value: at })
  }
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
  const waits: unknown[] = [
    failing,
    ...[Number.NaN, -1, Infinity, 1e300, 'soon', null, undefined, 1n, {}].map((wait) => () => wait),
  ]
  const policies: Parameters<typeof defineJob>[0][] = [
    ...waits.map((wait) => ({ onError: [retryOn(Error, { attempts: 2, wait: wait as never })] })),
    { onError: [retryOn(failing, { attempts: 2, wait: 1 })] },
    { onError: [discardOn(failing)] },
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
    count()
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
      count()
      expect((await jobs.list(query)).jobs, name).toEqual([])
    }
    expect(await jobs.unlock(text, text), name).toBe(false)
    expect(await jobs.locks({ name: text }), name).toEqual([])
    const { id } = await jobs.enqueue(take, { value: 1 })
    const { reason } = await jobs.cancel(id, { reason: text })
    if (oddTexts.some(([, odd]) => odd === text)) expect(reason, name).toBe(text)
    count(3)
  }
  for (const id of [0, -1, 1.5, Number.NaN, Infinity, 2 ** 53, '1', null, {}, 1n] as number[]) {
    expect(await tried(async () => [await jobs.get(id)]), String(id)).toEqual({ code: 'JOB_NOT_FOUND' })
    expect(await tried(async () => [await jobs.cancel(id)]), String(id)).toEqual({ code: 'JOB_NOT_FOUND' })
  }
})

test('an ending that the database refuses is isolated, and takes no other with it', async () => {
  await using db = await testDatabase()
  const { take, got } = taking()
  await using worker = jobWorker(db, [take])
  const enqueued = await worker.jobs.enqueueMany(
    take,
    Array.from({ length: 50 }, (_, value) => ({ value })),
  )
  const { id = 0 } = enqueued[20] ?? {}
  await db.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'not this one' using errcode = '22000'; end $$`,
  )
  await db.query(
    `create trigger refuse before insert on sluice.job_history for each row when (new.id = ${id}) execute function refuse()`,
  )
  count()
  await finish(db, worker)
  expect(got.size).toBe(50)
  expect(await db.value('select count(*)::int from sluice.job_history')).toBe(49)
  expect(await worker.jobs.get(id)).toMatchObject({
    state: 'quarantined',
    reason: 'how it ended could not be written down',
    error: { message: 'not this one', code: '22000' },
  })
})
