import { inspect, isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { jobWorker } from '../support/jobs.ts'
import { args, count, finish, jobsIn, sayCount, sqlNumbers, taking, tried } from './bad-input-cases.ts'
import { badKeys, badNames, oddTexts, oddValues, sqlTexts } from './bad-input-corpus.ts'

sayCount()

const failing = (): never => {
  throw new RangeError('no key today')
}

describe.each(['enqueue', 'enqueueMany'] as const)('args given to %s', (verb) => {
  test('are refused before anything is written, or reach the handler unchanged', async () => {
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
  for (const [name, text, ...gives] of [...sqlTexts, ...sqlNumbers]) {
    count()
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
  test.each(['unique', 'concurrency'] as const)('of %s are refused or kept as they are', async (kind) => {
    await using db = await testDatabase()
    let key: unknown
    const ran: string[] = []
    const keyed = defineJob({
      name: 'keyed',
      args,
      ...(kind === 'unique' ? { unique: { key: () => key as string } } : {}),
      ...(kind === 'concurrency' ? { concurrency: { limit: 1, key: () => key as string } } : {}),
      perform: ({ args: { value } }) => void ran.push(value as string),
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
  })

  test('that computing fails end in the error of the one who computes them', async () => {
    await using db = await testDatabase()
    const keyed = defineJob({ name: 'keyed', args, unique: { key: failing }, perform: () => undefined })
    await using worker = jobWorker(db, [keyed])
    count()
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
    expect(await enqueue({ in: wait }), inspect(wait)).toEqual({ code: 'ENQUEUE_INVALID' })
  }
  for (const at of [new Date('never'), new Date(8.64e15), new Date(0), 7, '2030-01-01', {}]) {
    expect(await enqueue({ at }), inspect(at)).toEqual({ code: 'ENQUEUE_INVALID' })
  }
  expect(await enqueue({ in: '1s', at: new Date() })).toEqual({ code: 'ENQUEUE_INVALID' })
  expect(await jobsIn(db)).toBe(0)
  // Half a year ago is a time, and more milliseconds than an integer of the database holds.
  expect(await enqueue({ at: new Date(Date.now() - 180 * 86_400_000) })).toHaveProperty('ids')
  await finish(db, worker)
  expect(got.size).toBe(1)
})
