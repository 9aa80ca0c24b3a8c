import { expect, test } from 'vitest'
import {
  completed,
  idsOf,
  known,
  many,
  plain,
  plainJob,
  postponed,
  settle,
  take,
  takeOne,
  workerOf,
  type Abilities,
  type QueueStore,
} from './place.ts'

export function claiming(open: () => Promise<QueueStore>, can: Abilities): void {
  test('jobs are claimed by priority, and in the order of their enqueueing within it', async () => {
    await using store = await open()
    const priorities = ['low', 'normal', 'high', 'low', 'high', 'normal'] as const
    const rows = await store.queue.enqueue(priorities.map((priority, n) => plainJob(n, { priority })))
    const claimed: number[] = []
    const worker = workerOf()
    for (const _ of rows) claimed.push((await takeOne(store.queue, { worker })).job.id)
    expect(claimed).toEqual([2, 4, 1, 5, 0, 3].map((at) => rows[at]?.id))
  })

  test('a claimed job has one holder', async () => {
    await using store = await open()
    const [row] = await store.queue.enqueue([plainJob()])
    expect(idsOf(await take(store.queue))).toEqual([row?.id])
    expect(await take(store.other)).toEqual([])
    expect(await store.queue.read('job', { id: row?.id ?? 0 })).toMatchObject({ state: 'running', attempt: 1 })
  })

  test('a job that comes again has one holder, too', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const first = await takeOne(store.queue)
    await settle(store.queue, first, postponed(first))
    expect(await take(store.queue)).toHaveLength(1)
    expect(await take(store.other)).toEqual([])
  })

  test('workers that claim at the same time share the jobs, and none gets one twice', async () => {
    await using store = await open()
    const rows = await store.queue.enqueue(many(600))
    const shares = await Promise.all(
      [store.queue, store.other, store.queue, store.other].map(async (queue) => {
        const [worker, mine] = [workerOf(), new Array<number>()]
        for (let found = -1; found !== 0;) {
          const taken = await take(queue, { worker, limit: 20 })
          mine.push(...idsOf(taken))
          found = taken.length
        }
        return mine
      }),
    )
    const claimed = shares.flat().toSorted((a, b) => a - b)
    expect(claimed).toEqual(rows.map(({ id }) => id).toSorted((a, b) => a - b))
  })

  test('no more is claimed than is asked for', async () => {
    await using store = await open()
    await store.queue.enqueue(many(10))
    expect(await take(store.queue, { limit: 4 })).toHaveLength(4)
    expect(await take(store.queue, { limit: 100 })).toHaveLength(6)
  })

  test('a job of an unknown name stays queued and is shown as parked; those behind it are claimed', async () => {
    await using store = await open()
    const [unknown, mine] = await store.queue.enqueue([plainJob(0, { job: 'unknown' }), plainJob(1)])
    expect(idsOf(await take(store.queue))).toEqual([mine?.id])
    expect(await store.queue.read('job', { id: unknown?.id ?? 0 })).toMatchObject({ state: 'waiting', parked: true })
    expect(idsOf(await take(store.queue, { worker: workerOf([plain, known('unknown')]) }))).toEqual([unknown?.id])
  })

  test('a worker takes jobs from the queues that it names, and from no others', async () => {
    await using store = await open()
    const rows = await store.queue.enqueue(['theirs', 'mine', 'ours'].map((queue, n) => plainJob(n, { queue })))
    const worker = workerOf(undefined, { weights: { mine: 1, ours: 2 } })
    const claimed = idsOf(await take(store.queue, { worker })).toSorted((a, b) => a - b)
    expect(claimed).toEqual([rows[1]?.id, rows[2]?.id])
    expect(idsOf(await take(store.queue))).toEqual([rows[0]?.id])
  })

  test('a worker takes nothing from a paused queue, and from the others it does', async () => {
    await using store = await open()
    const [shop, other] = await store.queue.enqueue([plainJob(0, { queue: 'shop' }), plainJob(1)])
    const switched = { queue: 'shop', who: {}, actor: null }
    expect(await store.queue.act('queue', { ...switched, verb: 'pause', after: { paused: true } })).toBe(true)
    expect(idsOf(await take(store.queue))).toEqual([other?.id])
    expect(await store.queue.act('queue', { ...switched, verb: 'resume', after: { paused: false } })).toBe(true)
    expect(idsOf(await take(store.queue))).toEqual([shop?.id])
  })

  test.runIf(can.rates)('a queue with a rate starts no more jobs than that, over all workers', async () => {
    await using store = await open()
    await store.queue.enqueue(many(20))
    const limit = {
      queue: 'default',
      verb: 'limit',
      who: {},
      actor: null,
      after: { limit: 5, perMs: 86_400_000 },
    } as const
    expect(await store.queue.act('queue', limit)).toBe(true)
    const shares = await Promise.all([take(store.queue, { limit: 4 }), take(store.other, { limit: 4 })])
    expect(shares.flat()).toHaveLength(5)
    expect(await take(store.queue)).toEqual([])
    expect(await store.queue.act('queue', { ...limit, after: { limit: null, perMs: null } })).toBe(true)
    expect(await take(store.queue)).toHaveLength(15)
  })

  test.runIf(can.rates)('a queue with a rate keeps what it had no job for', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob(0)])
    const after = { limit: 2, perMs: 86_400_000 }
    await store.queue.act('queue', { queue: 'default', verb: 'limit', who: {}, actor: null, after })
    const first = await takeOne(store.queue, { limit: 10 })
    await settle(store.queue, first, completed(first))
    await store.queue.enqueue(many(5))
    expect(await take(store.queue)).toHaveLength(1)
  })
}
