import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/index.ts'
import type { JobQueue } from '../../src/jobs/queue.ts'
import { Queues } from '../../src/jobs/queues.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { testDatabase } from '../support/database.ts'
import { claimForTheDead, drained, jobWorker, liveJobs, startedWorker, type JobWorker } from '../support/jobs.ts'
import { until } from '../support/wait.ts'
import { openStore, queueOn } from './store-by-hand.ts'

const numbered = z.object({ n: z.number() })
const many = (length: number): { n: number }[] => Array.from({ length }, (_, n) => ({ n }))
const noop = defineJob({ name: 'noop', args: numbered, perform: () => undefined })

/** Waits until a worker has looked at the switches of its queues anew, which it does every second. */
async function refreshed({ jobs, events }: JobWorker): Promise<void> {
  await sleep(1_100)
  // The look that takes the second probe began after the first was done, and so after that second.
  for (let probe = 0; probe < 2; probe++) {
    const finished = events.count('job.finished')
    await jobs.enqueue(noop, { n: -1 }, { queue: 'probes' })
    await events.event('job.finished', { nth: finished + 1 })
  }
}

test('a worker that names none finds a queue that is made later', async () => {
  await using db = await testDatabase()
  await using worker = await startedWorker(db, [noop])
  await worker.jobs.enqueue(noop, { n: 1 })
  await worker.events.event('job.finished')
  await worker.jobs.enqueue(noop, { n: 2 }, { queue: 'brand-new' })
  expect(await worker.events.event('job.finished', { nth: 2 })).toMatchObject({ queue: 'brand-new' })
})

test('a queue that is made between two looks is paused, and not denied', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [noop])
  await using store = await openStore(db)
  const queue = queueOn(store)
  // It is enqueued in for the first time just before the list of queues is read.
  const read: JobQueue['read'] = async (what, query) => {
    if (what === 'queues') await client.jobs.enqueue(noop, { n: 1 }, { queue: 'late' })
    return queue.read(what, query)
  }
  const between = new Proxy(queue, { get: (of, name) => (name === 'read' ? read : Reflect.get(of, name).bind(of)) })

  await new Queues({ queue: between, telemetry: new Telemetry() }).pause('late')

  expect(await client.sluice.queues.list()).toMatchObject([{ name: 'late', paused: true }])
})

test('a heavier queue is served more often, and a lighter one all the same', async () => {
  await using db = await testDatabase()
  const order: string[] = []
  const slow = defineJob({
    name: 'slow',
    args: numbered,
    async perform({ job }) {
      order.push(job.queue)
      await sleep(60 + Math.random() * 60)
    },
  })
  await using worker = jobWorker(db, [slow], { concurrency: 8, queues: { heavy: 4, light: 1 } })
  for (const queue of ['light', 'heavy']) await worker.jobs.enqueueMany(slow, many(600), { queue })
  await worker.sluice.start()
  // The first look fetches ahead from one queue; after that each free place is a new draw.
  await until('enough have started', () => order.length > 550)
  const heavy = order.slice(150, 550).filter((queue) => queue === 'heavy').length
  // 320 of 400 are expected.
  expect(heavy).toBeGreaterThan(220)
  expect(heavy).toBeLessThan(396)
})

describe('a paused queue', () => {
  test('starts nothing until it is resumed; others go on, and so does what runs', async () => {
    await using db = await testDatabase()
    const finish: (() => void)[] = []
    const long = defineJob({ name: 'long', perform: () => new Promise<void>((resolve) => void finish.push(resolve)) })
    await using worker = await startedWorker(db, [noop, long])
    const running = await worker.jobs.enqueue(long, undefined, { queue: 'shop' })
    await worker.events.event('job.started')
    await worker.sluice.queues.pause('shop', { actor: 'ada' })
    await refreshed(worker)
    await worker.jobs.enqueueMany(noop, many(5), { queue: 'shop' })
    await refreshed(worker)
    expect(await liveJobs(db)).toBe(6)
    finish.pop()?.()
    expect(await worker.events.event('job.finished', { nth: 5 })).toMatchObject({ jobId: running.id })
    expect(await worker.sluice.queues.list()).toContainEqual(
      expect.objectContaining({ name: 'shop', paused: true, pausedBy: 'ada', waiting: 5, running: 0 }),
    )
    await worker.sluice.queues.resume('shop', { actor: 'bob' })
    await worker.events.event('job.finished', { nth: 10 })
    expect(await worker.events.event('queue.paused')).toEqual({ queue: 'shop', actor: 'ada' })
    expect(await worker.events.event('queue.resumed')).toEqual({ queue: 'shop', actor: 'bob' })
  })
})

describe('a queue with a rate', () => {
  test('starts no more jobs than its tokens allow, over all workers', async () => {
    await using db = await testDatabase()
    await using ada = jobWorker(db, [noop], { concurrency: 20 })
    await using bob = jobWorker(db, [noop], { concurrency: 20 })
    await ada.jobs.enqueueMany(noop, many(60), { queue: 'api' })
    const [limit, perMs] = [10, 1_000]
    await ada.sluice.queues.limit('api', { limit, per: '1s' })
    const [since] = await db.query<{ at: Date }>(`select tokens_at as at from sluice.queue where name = 'api'`)
    await Promise.all([ada.sluice.start(), bob.sluice.start()])
    await drained(db)
    // Each end comes after its start, and each start after its token: by then, that many tokens there were.
    const rows = await db.query<{ at: Date }>('select finished_at as at from sluice.job_history order by finished_at')
    expect(rows).toHaveLength(60)
    for (const [nth, { at }] of rows.entries()) {
      const tokens = limit + ((Number(at) - Number(since?.at)) / perMs) * limit
      expect(nth + 1).toBeLessThanOrEqual(Math.ceil(tokens))
    }
  })

  test('gives back the tokens that it had no job for', async () => {
    await using db = await testDatabase()
    await using worker = await startedWorker(db, [noop])
    await worker.jobs.enqueue(noop, { n: 0 }, { queue: 'api' })
    await worker.events.event('job.finished')
    await worker.sluice.queues.limit('api', { limit: 5, per: '1d' })
    await refreshed(worker)
    // Several looks have come to nothing, and all five tokens are still there.
    await worker.jobs.enqueueMany(noop, many(8), { queue: 'api' })
    await worker.events.event('job.finished', { nth: 8 })
    await refreshed(worker)
    expect(await liveJobs(db)).toBe(3)
    await worker.sluice.queues.limit('api', null)
    await drained(db)
  })

  test('runs again what a dead worker held', async () => {
    await using db = await testDatabase()
    await using worker = jobWorker(db, [noop])
    const { id } = await worker.jobs.enqueue(noop, { n: 0 }, { queue: 'api' })
    await worker.sluice.queues.limit('api', { limit: 100, per: '1s' })
    await claimForTheDead(db)
    await worker.sluice.start()
    await worker.events.event('job.rescued')
    expect(await worker.events.event('job.finished')).toMatchObject({ jobId: id, attempt: 2 })
  })
})

test('the list tells what is in each queue', async () => {
  await using db = await testDatabase()
  const keyed = defineJob({ name: 'keyed', concurrency: { limit: 1, key: () => 'k' }, perform: () => undefined })
  await using worker = jobWorker(db, [noop, keyed])
  await worker.jobs.enqueueMany(noop, many(3), { queue: 'a' })
  await worker.jobs.enqueue(noop, { n: 1 }, { queue: 'a', in: '1h' })
  for (let i = 0; i < 3; i++) await worker.jobs.enqueue(keyed, undefined, { queue: 'b' })
  const empty = { paused: false, pausedBy: null, rate: null, running: 0, estimated: false }
  expect(await worker.sluice.queues.list()).toEqual([
    { name: 'a', ...empty, waiting: 3, scheduled: 1, blocked: 0, parked: 4, oldestMs: expect.any(Number) },
    { name: 'b', ...empty, waiting: 1, scheduled: 0, blocked: 2, parked: 3, oldestMs: expect.any(Number) },
  ])
})

describe('is refused with a reason', () => {
  test('what is done to a queue that is not there, or not well named', async () => {
    await using db = await testDatabase()
    await using worker = jobWorker(db, [noop])
    await worker.jobs.enqueue(noop, { n: 1 }, { queue: 'billing' })
    const { queues } = worker.sluice
    await expect(queues.pause('biling')).rejects.toMatchObject({ code: 'QUEUE_NOT_FOUND' })
    await expect(queues.resume('biling')).rejects.toThrow('Did you mean "billing"?')
    await expect(queues.pause('a b')).rejects.toMatchObject({ code: 'QUEUE_INVALID' })
    await expect(queues.limit('billing', { limit: 0, per: '1s' })).rejects.toMatchObject({ code: 'QUEUE_INVALID' })
    await expect(queues.limit('billing', { limit: 1, per: 0 })).rejects.toMatchObject({ code: 'QUEUE_INVALID' })
  })
})
