import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineJob,
  retryOn,
  Sluice,
  snooze,
  type JobContext,
  type JobDefinition,
  type JobOutcome,
} from '../../src/index.ts'
import { testJobs, type TestJobs } from '../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

const args = z.object({ n: z.number() })
let act: (context: JobContext<{ n: number }>) => Promise<JobOutcome | void> | JobOutcome | void

const work: JobDefinition<{ n: number }> = defineJob({
  name: 'work',
  args,
  onError: [retryOn('Busy', { attempts: 3, wait: '1m' })],
  retry: false,
  perform: (context) => act(context),
})
const single = defineJob({
  name: 'single',
  args,
  concurrency: { limit: 1, key: () => 'single' },
  perform: (context) => act(context),
})
const daily = defineJob({ name: 'daily', unique: { for: '1d' }, perform: () => undefined })
const booking = defineJob({
  name: 'booking',
  args,
  transaction: true,
  async perform({ tx, args: { n }, enqueue }) {
    await tx.query('insert into bookings (n) values ($1)', [n])
    if (n < 3) await enqueue(work, { n })
    else throw Object.assign(new Error('too much'), { name: 'TooMuch' })
  },
})
const unknown = defineJob({ name: 'unknown-here', perform: () => undefined })
const slow = defineJob({ name: 'slow', timeout: '100ms', retry: false, perform: () => new Promise(() => undefined) })

let db: TestDatabase
let sluice: Sluice
let jobs: TestJobs

beforeAll(async () => {
  db = await testDatabase()
  await db.query('create table bookings (n int not null)')
  sluice = new Sluice({ database: db.workerUrl, jobs: [work, single, daily, booking, slow] })
  jobs = testJobs(sluice)
})

afterAll(async () => {
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

beforeEach(async () => {
  await jobs.clear()
  act = () => undefined
})

const claims = (): Promise<number> => db.value('select count(*)::int from sluice.job_claim')
const busy = (): never => {
  throw Object.assign(new Error('busy'), { name: 'Busy' })
}

describe('draining', () => {
  test('runs all that is due in order, also what the jobs enqueue, and tells what happened', async () => {
    const order: number[] = []
    act = async ({ args: { n }, enqueue }) => {
      order.push(n)
      if (n < 3) await enqueue(work, { n: n + 10 })
    }
    const [first] = await sluice.jobs.enqueueMany(work, [{ n: 1 }, { n: 2 }, { n: 3 }])
    const drained = await jobs.drain()
    expect(order).toEqual([1, 2, 3, 11, 12])
    expect(drained).toHaveLength(5)
    expect(drained[0]).toEqual({
      id: first?.id,
      name: 'work',
      queue: 'default',
      args: { n: 1 },
      attempt: 1,
      ending: { kind: 'succeeded' },
    })
    expect(await sluice.jobs.get(first?.id ?? 0)).toMatchObject({ state: 'succeeded' })
    expect(await jobs.enqueued()).toEqual([])
    expect(await claims()).toBe(0)
    expect(await jobs.drain()).toEqual([])
  })

  test('goes through queues, keys and priorities as a worker does', async () => {
    let running = 0
    act = async () => {
      running += 1
      await new Promise((resolve) => setImmediate(resolve))
      expect(running).toBe(1)
      running -= 1
    }
    await sluice.jobs.enqueueMany(single, [{ n: 1 }, { n: 2 }, { n: 3 }])
    await sluice.jobs.enqueue(work, { n: 4 }, { queue: 'other', priority: 'low' })
    const drained = await jobs.drain()
    expect(drained.map(({ args: given }) => (given as { n: number }).n).toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4])
    expect(drained.filter(({ name }) => name === 'single').map(({ args: given }) => given)).toEqual([
      { n: 1 },
      { n: 2 },
      { n: 3 },
    ])
    expect(drained.map(({ ending }) => ending.kind)).toEqual(['succeeded', 'succeeded', 'succeeded', 'succeeded'])
  })

  test('ends after so many attempts, or after one that is looked for', async () => {
    act = async ({ args: { n }, enqueue }) => void (await enqueue(work, { n: n + 1 }))
    await sluice.jobs.enqueue(work, { n: 1 })
    expect(await jobs.drain({ limit: 3 })).toHaveLength(3)
    const drained = await jobs.drain({ until: ({ args: given }) => (given as { n: number }).n === 6 })
    expect(drained.map(({ args: given }) => given)).toEqual([{ n: 4 }, { n: 5 }, { n: 6 }])
    expect(await jobs.enqueued(work)).toMatchObject([{ args: { n: 7 }, state: 'waiting', attempt: 0 }])
    expect(await jobs.drain({ limit: 0 })).toEqual([])
    expect(await claims()).toBe(0)
  })

  test('leaves what it cannot or may not run', async () => {
    await sluice.jobs.enqueue(unknown)
    await sluice.jobs.enqueue(work, { n: 1 }, { in: '1h' })
    await sluice.jobs.enqueue(work, { n: 2 }, { queue: 'still' })
    await sluice.queues.pause('still')
    expect(await jobs.drain()).toEqual([])
    expect((await jobs.enqueued()).map(({ name, state }) => ({ name, state }))).toEqual([
      { name: 'unknown-here', state: 'waiting' },
      { name: 'work', state: 'scheduled' },
      { name: 'work', state: 'waiting' },
    ])
    await sluice.queues.resume('still')
    expect(await jobs.drain()).toHaveLength(1)
  })

  test('runs transactional jobs in their transaction', async () => {
    await sluice.jobs.enqueueMany(booking, [{ n: 1 }, { n: 3 }])
    const drained = await jobs.drain()
    expect(drained.map(({ name, ending }) => `${name} ${ending.kind}`).toSorted()).toEqual([
      'booking retried',
      'booking succeeded',
      'work succeeded',
    ])
    expect(await db.query('select n from bookings')).toEqual([{ n: 1 }])
    expect(await claims()).toBe(0)
  })

  test('ends a handler that takes too long', async () => {
    await sluice.jobs.enqueue(slow)
    expect(await jobs.drain()).toMatchObject([{ ending: { kind: 'dead', error: { name: 'JobTimeout' } } }])
  })

  test('says it with the events of a worker', async () => {
    const events: string[] = []
    const off = sluice.onAny(({ event }) => events.push(event))
    act = () => snooze('5m')
    await sluice.jobs.enqueue(work, { n: 1 })
    await jobs.drain()
    off()
    expect(events).toEqual(['jobs.enqueued', 'job.started', 'job.snoozed'])
  })
})

describe('time', () => {
  test('passes when told to, and scheduled jobs become due', async () => {
    await sluice.jobs.enqueue(work, { n: 30 }, { in: '30m' })
    await sluice.jobs.enqueue(work, { n: 60 }, { at: new Date(Date.now() + 3_600_000) })
    await sluice.jobs.enqueue(single, { n: 90 }, { in: '90m' })
    const due = async (): Promise<unknown[]> => (await jobs.drain()).map(({ args: given }) => given)
    expect(await due()).toEqual([])
    await jobs.clock.travel('31m')
    expect(await due()).toEqual([{ n: 30 }])
    await jobs.clock.travel('30m')
    expect(await due()).toEqual([{ n: 60 }])
    await jobs.clock.travel(30 * 60_000)
    expect(await due()).toEqual([{ n: 90 }])
  })

  test('passes for retries, attempt by attempt and without jitter, and not for what comes later', async () => {
    act = busy
    const { id } = await sluice.jobs.enqueue(work, { n: 1 })
    const kinds: string[] = []
    for (const wait of ['59s', '2s', '59s', '2s', '1h'] as const) {
      kinds.push((await jobs.drain()).map(({ attempt, ending }) => `${attempt} ${ending.kind}`).join())
      await jobs.clock.travel(wait)
    }
    expect(kinds).toEqual(['1 retried', '', '2 retried', '', '3 dead'])
    expect(await sluice.jobs.get(id)).toMatchObject({ state: 'dead', attempts: { length: 3 } })
  })

  test('passes for unique keys', async () => {
    const first = await sluice.jobs.enqueue(daily)
    await jobs.clock.travel('23h')
    expect(await sluice.jobs.enqueue(daily)).toEqual({ id: first.id, duplicate: true })
    await jobs.clock.travel('2h')
    expect(await sluice.jobs.enqueue(daily)).toMatchObject({ duplicate: false })
  })

  test('goes in one direction, by a time', async () => {
    await expect(jobs.clock.travel('soon' as never)).rejects.toThrow('travel takes a time')
    await expect(jobs.clock.travel(-5)).rejects.toThrow('travel takes a time')
  })
})

test('clearing deletes all jobs with all that belongs to them', async () => {
  act = () => Promise.reject(new Error('no'))
  await sluice.jobs.enqueue(work, { n: 1 })
  await jobs.drain()
  await sluice.jobs.enqueue(daily, undefined, { in: '1h' })
  await sluice.jobs.enqueueMany(single, [{ n: 1 }, { n: 2 }])
  expect(await sluice.jobs.list({ states: ['dead'] })).toMatchObject({ jobs: [{ name: 'work' }] })
  expect(await jobs.clear()).toBe(3)
  expect(await jobs.enqueued()).toEqual([])
  expect(await sluice.jobs.locks()).toEqual([])
  expect(await sluice.jobs.list({ states: ['dead'] })).toMatchObject({ jobs: [] })
  expect(await sluice.jobs.enqueue(daily)).toMatchObject({ duplicate: false })
})
