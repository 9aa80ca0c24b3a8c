import { expect, test } from 'vitest'
import type { NewJob } from '../../../src/jobs/queue.ts'
import {
  buried,
  completed,
  idsOf,
  known,
  plainJob,
  postponed,
  settle,
  take,
  takeOne,
  workerOf,
  type QueueStore,
} from './place.ts'

/** Jobs with a key, of which up to `limit` run at once. */
const keyed = (count: number, limit: number, name = 'k'): NewJob[] =>
  Array.from({ length: count }, (_, n) => plainJob(n, { key: { name, limit } }))

const worker = workerOf([known('plain', { limit: 1 })])

export function concurrencyKeys(open: () => Promise<QueueStore>): void {
  test.each([1, 3])('up to %s jobs of a key run at once, in the order of their enqueueing', async (limit) => {
    await using store = await open()
    const ids = (await store.queue.enqueue(keyed(7, limit))).map(({ id }) => id)
    const order: number[] = []
    for (let left = 7; left > 0;) {
      const taken = await take(store.queue)
      expect(taken).toHaveLength(Math.min(limit, left))
      order.push(...idsOf(taken).toSorted((a, b) => a - b))
      for (const one of taken) expect(await settle(store.queue, one, completed(one))).toBe(true)
      left -= taken.length
    }
    expect(order).toEqual(ids)
  })

  test('jobs of other keys, and without one, are not held up', async () => {
    await using store = await open()
    const jobs = [...keyed(2, 1, 'a'), ...keyed(2, 1, 'b'), plainJob()]
    const rows = await store.queue.enqueue(jobs)
    const claimed = idsOf(await take(store.queue)).toSorted((a, b) => a - b)
    expect(claimed).toEqual([0, 2, 4].map((at) => rows[at]?.id))
  })

  test('a job that waits behind others is shown as blocked', async () => {
    await using store = await open()
    const [first, second] = await store.queue.enqueue(keyed(2, 1))
    expect(await store.queue.read('job', { id: first?.id ?? 0 })).toMatchObject({ state: 'waiting', key: 'k' })
    expect(await store.queue.read('job', { id: second?.id ?? 0 })).toMatchObject({ state: 'blocked', key: 'k' })
  })

  test.each([
    ['succeeds', completed],
    ['dies', buried],
    ['waits for its next attempt', (taken: Parameters<typeof completed>[0]) => postponed(taken, { delayMs: 60_000 })],
  ])('the next one is let in when the one before it %s, and its worker is told', async (_, endingOf) => {
    await using store = await open()
    const [, second] = await store.queue.enqueue(keyed(2, 1))
    const first = await takeOne(store.queue, { worker: workerOf() })
    expect(await settle(store.queue, first, endingOf(first))).toBe(true)
    expect(first.worker.hint.notified).toBe(true)
    expect((await takeOne(store.queue)).job.id).toBe(second?.id)
  })

  test('the next one is let in when the one before it is cancelled', async () => {
    await using store = await open()
    const [first, second] = await store.queue.enqueue(keyed(2, 1))
    await store.queue.act('jobs', { ids: [first?.id ?? 0], action: 'cancel', reason: 'enough' })
    expect((await takeOne(store.queue)).job.id).toBe(second?.id)
  })

  test('a scheduled one waits for its time first, and then for its turn', async () => {
    await using store = await open()
    const later = keyed(1, 1).map((job) => ({ ...job, delayMs: 60_000 }))
    const [row] = await store.queue.enqueue(later)
    const [now] = await store.queue.enqueue(keyed(1, 1))
    const first = await takeOne(store.queue)
    expect(first.job.id).toBe(now?.id)
    await store.peek.passTime(120_000)
    while ((await store.queue.maintain(worker)).more);
    expect(await take(store.queue)).toEqual([])
    await settle(store.queue, first, completed(first))
    while ((await store.queue.maintain(worker)).more);
    expect((await takeOne(store.queue)).job.id).toBe(row?.id)
  })
}
