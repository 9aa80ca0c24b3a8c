import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  cancel,
  defineJob,
  discardOn,
  exponential,
  JobTimeout,
  retryOn,
  Sluice,
  snooze,
  type JobContext,
  type JobDefinition,
  type JobOutcome,
} from '../../src/index.ts'
import { testJobs, type TestJobs } from '../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

class RateLimit extends Error {}
class Gone extends Error {}

let act: (context: JobContext<{ n: number }>) => Promise<JobOutcome | void> | JobOutcome | void

const args = z.object({ n: z.number(), at: z.coerce.date().optional() })
const rules = {
  onError: [
    retryOn(RateLimit, { attempts: 3, wait: exponential({ base: '10s', jitter: 0.5 }) }),
    discardOn(Gone),
    retryOn(JobTimeout, { attempts: 2, wait: '1m' }),
  ],
  timeout: '200ms',
} as const

const work = defineJob({ name: 'work', args, ...rules, perform: (context) => act(context) })
const once = defineJob({ name: 'once', args, retry: false, perform: (context) => act(context) })
const follower = defineJob({ name: 'follower', queue: 'slow', args, perform: () => undefined })
const untilStart: JobDefinition<{ n: number }> = defineJob({
  name: 'until-start',
  args: z.object({ n: z.number() }),
  unique: { for: '1h', until: 'start' },
  perform: (context) => act(context),
})
const untilSuccess: JobDefinition<{ n: number }> = defineJob({
  name: 'until-success',
  args: z.object({ n: z.number() }),
  unique: { for: '1h', until: 'success' },
  perform: (context) => act(context),
})
const booking = defineJob({
  name: 'booking',
  args,
  transaction: true,
  async perform(context) {
    await context.tx.query('insert into bookings (n) values ($1)', [context.args.n])
    return act(context)
  },
})

let db: TestDatabase
let sluice: Sluice
let jobs: TestJobs

beforeAll(async () => {
  db = await testDatabase()
  await db.query('create table bookings (n int not null)')
  sluice = new Sluice({ database: db.workerUrl })
  jobs = testJobs(sluice)
})

afterAll(async () => {
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

beforeEach(() => {
  act = () => undefined
})

const recorded = (): Promise<number> =>
  db.value(`select (select count(*) from sluice.job)::int + (select count(*) from sluice.job_lock)::int
    + (select count(*) from sluice.job_history)::int + (select count(*) from sluice.job_dead)::int
    + (select count(*) from sluice.job_attempt)::int`)

const bookings = (): Promise<number> => db.value('select count(*)::int from bookings')

describe('a job that is run without the queue', () => {
  test('gets its args as a worker would give them, and leaves nothing behind', async () => {
    const seen: unknown[] = []
    act = ({ args: given, job }) => void seen.push(given, job)
    const { ending, enqueued } = await jobs.run(work, { n: 1, at: '2026-01-02T00:00:00Z' })
    expect(ending).toEqual({ kind: 'succeeded' })
    expect(enqueued).toEqual([])
    expect(seen).toEqual([
      { n: 1, at: new Date('2026-01-02T00:00:00Z') },
      expect.objectContaining({ name: 'work', queue: 'default', attempt: 1, tags: [] }),
    ])
    expect(await recorded()).toBe(0)
  })

  test('is refused with args that could not be enqueued', async () => {
    await expect(jobs.run(work, { n: 'one' } as never)).rejects.toMatchObject({ code: 'ARGS_INVALID' })
  })

  test.each([
    [1, { kind: 'retried', reason: 'failure 1 of 3 on RateLimit', delayMs: 10_000, error: { message: 'slow down' } }],
    [2, { kind: 'retried', reason: 'failure 2 of 3 on RateLimit', delayMs: 20_000 }],
    [3, { kind: 'dead', reason: 'failed 3 of 3 times on RateLimit', error: { message: 'slow down' } }],
  ])('ends by its policy, attempt %i', async (attempt, ending) => {
    act = () => {
      throw new RateLimit('slow down')
    }
    expect((await jobs.run(work, { n: 1 }, { attempt })).ending).toMatchObject(ending)
    expect(await recorded()).toBe(0)
  })

  test('is discarded, dead, snoozed or cancelled', async () => {
    const endings: unknown[] = []
    const outcomes: (typeof act)[] = [
      () => Promise.reject(new Gone('who?')),
      () => snooze('5m', 'not ready'),
      () => cancel('no longer wanted'),
    ]
    for (const outcome of outcomes) {
      act = outcome
      endings.push((await jobs.run(work, { n: 1 })).ending)
    }
    act = () => Promise.reject(new Error('broken'))
    endings.push((await jobs.run(once, { n: 1 })).ending)
    expect(endings).toMatchObject([
      { kind: 'discarded', reason: 'discarded on Gone', error: { message: 'who?' } },
      { kind: 'snoozed', delayMs: 300_000, reason: 'not ready' },
      { kind: 'cancelled', reason: 'no longer wanted' },
      { kind: 'dead', reason: 'the job is not retried', error: { message: 'broken' } },
    ])
  })

  test('is told to stop when its time is over, and left when it does not', async () => {
    act = ({ signal }) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
    expect((await jobs.run(work, { n: 1 })).ending).toMatchObject({ kind: 'retried', error: { name: 'JobTimeout' } })
    act = () => new Promise(() => undefined)
    expect((await jobs.run(work, { n: 1 }, { attempt: 2 })).ending).toMatchObject({ kind: 'dead' })
  })

  test('tells what it enqueued, which is not recorded', async () => {
    act = async ({ enqueue }) => {
      await enqueue(follower, { n: 2 })
      await enqueue(follower, { n: 3 }, { in: '30m', priority: 'high', tags: ['x'], queue: 'urgent' })
      await enqueue(follower, { n: 4 }, { at: new Date('2027-01-01T00:00:00Z') })
    }
    const { enqueued } = await jobs.run(work, { n: 1 })
    const plain = { name: 'follower', queue: 'slow', priority: 'normal', tags: [], delayMs: null, runAt: null }
    expect(enqueued).toEqual([
      { ...plain, args: { n: 2 } },
      { ...plain, args: { n: 3 }, queue: 'urgent', priority: 'high', tags: ['x'], delayMs: 1_800_000 },
      { ...plain, args: { n: 4 }, runAt: new Date('2027-01-01T00:00:00Z') },
    ])
    expect(await recorded()).toBe(0)
  })

  test('cannot enqueue what could not be enqueued', async () => {
    act = async ({ enqueue }) => void (await enqueue(follower, { n: 'x' } as never))
    expect((await jobs.run(once, { n: 1 })).ending).toMatchObject({ kind: 'dead', error: { code: 'ARGS_INVALID' } })
  })

  test.each([
    ['may enqueue itself when its key is free at the start', untilStart, [false, true], 1],
    ['may not when its key is free only after success', untilSuccess, [true, true], 0],
  ])('%s', async (_, definition, duplicates, count) => {
    const answers: boolean[] = []
    act = async ({ enqueue }) => {
      answers.push((await enqueue(definition, { n: 1 })).duplicate, (await enqueue(definition, { n: 1 })).duplicate)
    }
    const { enqueued } = await jobs.run(definition, { n: 1 })
    expect(answers).toEqual(duplicates)
    expect(enqueued).toHaveLength(count)
  })
})

describe('a transactional job', () => {
  test('commits what it did when it ends well', async () => {
    act = async ({ enqueue }) => void (await enqueue(follower, { n: 2 }))
    const { ending, enqueued } = await jobs.run(booking, { n: 1 })
    expect(ending).toEqual({ kind: 'succeeded' })
    expect(enqueued).toHaveLength(1)
    expect(await bookings()).toBe(1)
    expect(await recorded()).toBe(0)
  })

  test('leaves nothing when it fails, also of what it enqueued', async () => {
    const before = await bookings()
    act = async ({ enqueue }) => {
      await enqueue(follower, { n: 2 })
      throw new Error('no')
    }
    const { ending, enqueued } = await jobs.run(booking, { n: 1 })
    expect(ending).toMatchObject({ kind: 'retried', error: { message: 'no' } })
    expect(enqueued).toEqual([])
    expect(await bookings()).toBe(before)
  })
})

test('a job without a transaction needs no database at all', async () => {
  const nowhere = testJobs(new Sluice({ database: 'postgres://nobody@127.0.0.1:1/nothing' }))
  expect((await nowhere.run(work, { n: 1 })).ending).toEqual({ kind: 'succeeded' })
})
