import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { cancel, defineJob, discardOn, Sluice, type JobDefinition } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { drained, jobWorker, liveJobs, startedWorker } from '../support/jobs.ts'
import { until } from '../support/wait.ts'

const pair = z.object({ a: z.number(), b: z.number().optional() })
const idle = { args: pair, perform: () => undefined } as const

const noLock = async (db: TestDatabase): Promise<boolean> =>
  (await db.value('select count(*)::int from sluice.job_lock')) === 0

test('the key is the args, in whatever order they are given', async () => {
  await using db = await testDatabase()
  const once = defineJob({ name: 'once', unique: {}, ...idle })
  await using worker = jobWorker(db, [once])
  const first = await worker.jobs.enqueue(once, { a: 1, b: 2 })
  expect(first.duplicate).toBe(false)
  expect(await worker.jobs.enqueue(once, { b: 2, a: 1 })).toEqual({ id: first.id, duplicate: true })
  expect(await worker.jobs.enqueue(once, { a: 1 })).toMatchObject({ duplicate: false })
  expect(await worker.jobs.enqueue(once, { a: 1, b: 3 })).toMatchObject({ duplicate: false })
  expect(await liveJobs(db)).toBe(3)
})

test('a key of the definition decides instead, for each job name on its own', async () => {
  await using db = await testDatabase()
  const unique = { key: ({ a }: { a: number }) => `a${a}` }
  const one = defineJob({ name: 'one', unique, ...idle })
  const two = defineJob({ name: 'two', unique, ...idle })
  await using worker = jobWorker(db, [one, two])
  await worker.jobs.enqueue(one, { a: 1, b: 1 })
  expect(await worker.jobs.enqueue(one, { a: 1, b: 2 })).toMatchObject({ duplicate: true })
  expect(await worker.jobs.enqueue(two, { a: 1, b: 1 })).toMatchObject({ duplicate: false })
  expect((await worker.jobs.locks()).map(({ name, key: taken }) => [name, taken])).toEqual([
    ['two', 'a1'],
    ['one', 'a1'],
  ])
})

test('of many in one statement the first of each key wins', async () => {
  await using db = await testDatabase()
  const once = defineJob({ name: 'once', unique: {}, ...idle })
  await using worker = jobWorker(db, [once])
  const taken = await worker.jobs.enqueue(once, { a: 3 })
  const enqueued = await worker.jobs.enqueueMany(
    once,
    [1, 2, 1, 3, 2, 1].map((a) => ({ a })),
  )
  expect(enqueued.map(({ duplicate }) => duplicate)).toEqual([false, false, true, true, true, true])
  const [one, two] = enqueued
  expect(enqueued.map(({ id }) => id)).toEqual([one?.id, two?.id, one?.id, taken.id, two?.id, one?.id])
  expect(await liveJobs(db)).toBe(3)
})

test('of enqueuers on four connections exactly one wins each key', async () => {
  await using db = await testDatabase()
  const once = defineJob({ name: 'once', unique: {}, ...idle })
  const processes = Array.from({ length: 4 }, () => new Sluice({ database: db.workerUrl }))
  const keys = Array.from({ length: 200 }, (_, a) => ({ a }))
  // Each in an order of its own, in bulk and one by one.
  const results = await Promise.all(
    processes.map(async ({ jobs }, nth) => {
      const mine = keys.toSorted((x, y) => ((x.a * 7919 * (nth + 1)) % 200) - ((y.a * 7919 * (nth + 1)) % 200))
      const bulk = await jobs.enqueueMany(once, mine.slice(0, 100))
      const single = await Promise.all(mine.slice(100).map((args) => jobs.enqueue(once, args)))
      return [...bulk, ...single].map(({ id, duplicate }, at) => ({ a: mine[at]?.a, id, duplicate }))
    }),
  )
  await Promise.all(processes.map((sluice) => sluice.stop()))
  for (const { a } of keys) {
    const answers = results.flat().filter((answer) => answer.a === a)
    expect(answers.filter(({ duplicate }) => !duplicate)).toHaveLength(1)
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1)
  }
  expect(await liveJobs(db)).toBe(200)
})

test('a key is taken over when its time is over, and the old job frees nothing then', async () => {
  await using db = await testDatabase()
  const hourly = defineJob({ name: 'hourly', unique: { for: '1h' }, ...idle })
  await using worker = jobWorker(db, [hourly])
  const old = await worker.jobs.enqueue(hourly, { a: 1 })
  const [lock] = await worker.jobs.locks()
  const { runAt } = await worker.jobs.get(old.id)
  expect(Number(lock?.expires_at) - Number(runAt)).toBe(3_600_000)
  await db.query(`update sluice.job_lock set expires_at = now() - interval '1 second'`)
  const next = await worker.jobs.enqueue(hourly, { a: 1 }, { in: '1d' })
  expect(next).toMatchObject({ duplicate: false })
  await worker.sluice.start()
  expect(await worker.events.event('job.finished')).toMatchObject({ jobId: old.id })
  expect(await worker.jobs.locks()).toMatchObject([{ job_id: next.id }])
  expect(await worker.jobs.enqueue(hourly, { a: 1 })).toEqual({ id: next.id, duplicate: true })
})

test('the time counts from the moment at which the job may run', async () => {
  await using db = await testDatabase()
  const hourly = defineJob({ name: 'hourly', unique: { for: '1h' }, ...idle })
  await using worker = jobWorker(db, [hourly])
  const { id } = await worker.jobs.enqueue(hourly, { a: 1 }, { in: '1d' })
  const [lock] = await worker.jobs.locks()
  expect(Number(lock?.expires_at) - Number((await worker.jobs.get(id)).runAt)).toBe(3_600_000)
})

/** A job that enqueues itself three times, and the answers that it got. */
const requeueing = (
  end: 'start' | 'success',
  transaction: boolean,
): { job: JobDefinition<undefined>; answers: unknown[] } => {
  const answers: unknown[] = []
  const spec = { name: 'requeue', unique: { until: end } } as const
  const job: JobDefinition<undefined> = transaction
    ? defineJob({ ...spec, transaction: true, perform: async ({ enqueue }) => again(enqueue) })
    : defineJob({ ...spec, perform: async ({ enqueue }) => again(enqueue) })
  const again = async (enqueue: (definition: typeof job) => Promise<{ duplicate: boolean }>): Promise<void> => {
    if (answers.length < 3) answers.push((await enqueue(job)).duplicate)
  }
  return { job, answers }
}

describe('from inside perform', () => {
  test.each([false, true])('a job requeues itself under until start (in a transaction: %s)', async (transaction) => {
    await using db = await testDatabase()
    const { job, answers } = requeueing('start', transaction)
    await using worker = await startedWorker(db, [job])
    await worker.jobs.enqueue(job)
    await worker.events.event('job.finished', { nth: 4 })
    expect(answers).toEqual([false, false, false])
    expect(await liveJobs(db)).toBe(0)
  })

  test.each([false, true])('and is refused under until success (in a transaction: %s)', async (transaction) => {
    await using db = await testDatabase()
    const { job, answers } = requeueing('success', transaction)
    await using worker = await startedWorker(db, [job])
    await worker.jobs.enqueue(job)
    await worker.events.event('job.finished')
    expect(answers).toEqual([true])
    expect(await liveJobs(db)).toBe(0)
    // After its end the way is free.
    expect(await worker.jobs.enqueue(job)).toMatchObject({ duplicate: false })
  })
})

describe('the key is free', () => {
  class Gone extends Error {}
  const ways = {
    success: { perform: () => undefined },
    death: {
      retry: false as const,
      perform: () => {
        throw new Error('no')
      },
    },
    discard: {
      onError: [discardOn(Gone)],
      perform: () => {
        throw new Gone()
      },
    },
    cancel: { perform: () => cancel('enough') },
  }

  test.each(Object.keys(ways) as (keyof typeof ways)[])('after %s', async (way) => {
    await using db = await testDatabase()
    const job = defineJob({ name: 'ends', unique: { until: 'success' }, ...ways[way] })
    await using worker = await startedWorker(db, [job])
    const { id } = await worker.jobs.enqueue(job)
    const ended = { success: 'succeeded', death: 'dead', discard: 'discarded', cancel: 'cancelled' }
    expect((await worker.jobs.wait(id, { everyMs: 20 })).state).toBe(ended[way])
    expect(await noLock(db)).toBe(true)
    expect(await worker.jobs.enqueue(job)).toMatchObject({ duplicate: false })
  })

  test.each(['cancel', 'discard'] as const)('after a %s by a person', async (verb) => {
    await using db = await testDatabase()
    const job = defineJob({ name: 'ends', unique: {}, perform: () => undefined })
    await using worker = jobWorker(db, [job])
    const { id } = await worker.jobs.enqueue(job)
    await worker.jobs[verb](id)
    expect(await noLock(db)).toBe(true)
  })

  test('after a quarantine', async () => {
    await using db = await testDatabase()
    const old = defineJob({ name: 'changed', unique: {}, args: pair, perform: () => undefined })
    const today = defineJob({
      name: 'changed',
      unique: {},
      args: z.object({ c: z.string() }),
      perform: () => undefined,
    })
    await using worker = jobWorker(db, [today])
    await worker.jobs.enqueue(old, { a: 1 })
    await worker.sluice.start()
    await worker.events.event('job.quarantined')
    expect(await noLock(db)).toBe(true)
  })
})

test('a retrying job keeps its key', async () => {
  await using db = await testDatabase()
  let fails = true
  const stubborn = defineJob({
    name: 'stubborn',
    unique: { until: 'success' },
    retry: { attempts: 100, wait: '50ms' },
    perform() {
      if (fails) throw new Error('not yet')
    },
  })
  await using worker = await startedWorker(db, [stubborn])
  const { id } = await worker.jobs.enqueue(stubborn)
  for (const nth of [1, 2, 3]) {
    await worker.events.event('job.retried', { nth })
    expect(await worker.jobs.enqueue(stubborn)).toEqual({ id, duplicate: true })
  }
  fails = false
  await drained(db)
  expect(await noLock(db)).toBe(true)
})

test('a key until start is free while the job runs, and not before', async () => {
  await using db = await testDatabase()
  const finish: (() => void)[] = []
  const long = defineJob({
    name: 'long',
    unique: { until: 'start' },
    perform: () => new Promise<void>((resolve) => void finish.push(resolve)),
  })
  await using worker = jobWorker(db, [long], { concurrency: 1 })
  const first = await worker.jobs.enqueue(long)
  expect(await worker.jobs.enqueue(long)).toEqual({ id: first.id, duplicate: true })
  await worker.sluice.start()
  await worker.events.event('job.started')
  expect(await worker.jobs.enqueue(long)).toMatchObject({ duplicate: false })
  finish.pop()?.()
  await worker.events.event('job.started', { nth: 2 })
  finish.pop()?.()
  await drained(db)
})

test('keys that are taken can be seen and released by hand', async () => {
  await using db = await testDatabase()
  const once = defineJob({ name: 'once', unique: { key: ({ a }) => `a${a}` }, ...idle })
  await using worker = jobWorker(db, [once])
  const { id } = await worker.jobs.enqueue(once, { a: 1 })
  await worker.jobs.enqueue(once, { a: 2 })
  expect(await worker.jobs.locks({ name: 'once', limit: 1 })).toHaveLength(1)
  expect(await worker.jobs.locks({ name: 'other' })).toEqual([])
  expect(await worker.jobs.locks()).toContainEqual({
    name: 'once',
    key: 'a1',
    job_id: id,
    until: 'success',
    expires_at: null,
  })
  expect(await worker.jobs.unlock('once', 'a1')).toBe(true)
  expect(await worker.jobs.unlock('once', 'a1')).toBe(false)
  expect(await worker.jobs.enqueue(once, { a: 1 })).toMatchObject({ duplicate: false })
  await worker.sluice.start()
  await drained(db)
  await until('all keys are free', () => noLock(db))
})
