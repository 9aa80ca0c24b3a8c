import { expect, test } from 'vitest'
import type { JobFilter } from '../../../src/jobs/query.ts'
import type { StoredJob } from '../../../src/jobs/status.ts'
import { buried, completed, filter, many, plainJob, settle, takeOne, type Abilities, type QueueStore } from './place.ts'

export function looking(open: () => Promise<QueueStore>, can: Abilities): void {
  test('unfinished jobs come latest first, page by page, while others come', async () => {
    await using store = await open()
    const ids = (await store.queue.enqueue(many(25))).map(({ id }) => id)
    const seen: number[] = []
    let before: number | null = null
    for (let page = 0; page < 3; page++) {
      const jobs: StoredJob[] = await store.queue.read('jobs', filter({ before, limit: 10 }))
      seen.push(...jobs.map(({ id }) => id))
      before = jobs.at(-1)?.cursor ?? null
      // What comes later does not shift the pages.
      await store.queue.enqueue(many(3))
    }
    expect(seen).toEqual(ids.toReversed())
  })

  test('ended jobs are listed by how they ended', async () => {
    await using store = await open()
    await store.queue.enqueue(many(2))
    const first = await takeOne(store.queue)
    await settle(store.queue, first, completed(first))
    const second = await takeOne(store.queue)
    await settle(store.queue, second, buried(second))
    const listed = async (states: JobFilter['states']): Promise<number[]> =>
      (await store.queue.read('jobs', filter({ states }))).map(({ id }) => id)
    expect(await listed(['succeeded'])).toEqual([first.job.id])
    expect(await listed(['dead', 'quarantined'])).toEqual([second.job.id])
    expect(await listed(['discarded'])).toEqual([])
    expect(await listed(['waiting', 'running'])).toEqual([])
  })

  test.runIf(can.filters)('a list can be narrowed by name, queue, tag, args and state', async () => {
    await using store = await open()
    const rows = await store.queue.enqueue([
      plainJob(1, { queue: 'q1', tags: ['x', 'y'] }),
      plainJob(2, { queue: 'q2', tags: ['y'] }),
      plainJob(3, { queue: 'q1', job: 'other' }),
      plainJob(4, { queue: 'q2', job: 'other', delayMs: 3_600_000, tags: ['x'] }),
    ])
    const found = async (more: Partial<JobFilter>): Promise<number[]> => {
      const jobs = await store.queue.read('jobs', filter(more))
      expect(await store.queue.read('count', filter(more))).toBe(jobs.length)
      return jobs.map(({ id }) => rows.findIndex((row) => row.id === id)).toReversed()
    }
    expect(await found({})).toEqual([0, 1, 2, 3])
    expect(await found({ name: 'plain' })).toEqual([0, 1])
    expect(await found({ queue: 'q1' })).toEqual([0, 2])
    expect(await found({ tag: 'x' })).toEqual([0, 3])
    expect(await found({ states: ['scheduled'] })).toEqual([3])
    expect(await found({ name: 'other', args: '{"n": 3}' })).toEqual([2])
    expect(await found({ name: 'plain', queue: 'q2', tag: 'y', states: ['waiting'] })).toEqual([1])
    expect(await found({ name: 'nobody' })).toEqual([])
  })

  test('jobs are counted up to a limit', async () => {
    await using store = await open()
    await store.queue.enqueue(many(7))
    expect(await store.queue.read('count', filter({ limit: 100 }))).toBe(7)
    expect(await store.queue.read('count', filter({ limit: 5 }))).toBe(5)
  })

  test('each queue tells what is in it', async () => {
    await using store = await open()
    await store.queue.enqueue([...many(3), plainJob(0, { delayMs: 60_000 }), plainJob(0, { queue: 'mail' })])
    await takeOne(store.queue)
    const queues = await store.queue.read('queues', undefined)
    const counts = queues.map(({ name, waiting, scheduled, running }) => [name, waiting + running, scheduled])
    expect(counts).toEqual([
      ['default', 3, 1],
      ['mail', 1, 0],
    ])
    expect(queues.reduce((sum, { running }) => sum + running, 0)).toBe(1)
  })

  test('a job that is not there is not found', async () => {
    await using store = await open()
    expect(await store.queue.read('job', { id: 987_654 })).toBeUndefined()
  })

  test('it can be told which jobs live, and which have died since a moment', async () => {
    await using store = await open()
    await store.queue.enqueue(many(3))
    const dead = await takeOne(store.queue)
    await settle(store.queue, dead, buried(dead))
    const done = await takeOne(store.queue)
    await settle(store.queue, done, completed(done))
    const held = await takeOne(store.queue)
    const ids = [dead, done, held].map(({ job }) => job.id)
    const since = new Date(Date.now() - 3_600_000)
    expect([...(await store.queue.read('dead', { ids, since }))]).toEqual([dead.job.id])
  })

  test.runIf(can.filters)('failures are grouped by what went wrong', async () => {
    await using store = await open()
    await store.queue.enqueue(many(3))
    for (const message of ['order 1 failed', 'order 22 failed', 'no such customer']) {
      const taken = await takeOne(store.queue)
      const ending = { ...buried(taken), error: { name: 'Error', message } }
      await settle(store.queue, taken, ending)
    }
    const groups = await store.queue.read('failures', { states: ['dead'], latest: 100, limit: 10 })
    expect(groups.map(({ jobs }) => jobs)).toEqual([2, 1])
    const [largest] = groups
    const inGroup = filter({ states: ['dead'], fingerprint: largest?.fingerprint ?? null })
    expect(await store.queue.read('jobs', inGroup)).toHaveLength(2)
  })
}
