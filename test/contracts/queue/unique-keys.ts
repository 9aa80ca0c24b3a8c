import { expect, test } from 'vitest'
import {
  buried,
  completed,
  crash,
  plainJob,
  postponed,
  released,
  settle,
  takeOne,
  uniqueJob,
  type QueueStore,
} from './place.ts'

const isFree = async ({ queue }: QueueStore): Promise<boolean> =>
  (await queue.read('keys', { name: null, limit: 10 })).length === 0

export function uniqueKeys(open: () => Promise<QueueStore>): void {
  test('of many in one call the first of each key wins', async () => {
    await using store = await open()
    const [taken] = await store.queue.enqueue([uniqueJob('c')])
    const rows = await store.queue.enqueue(['a', 'b', 'a', 'c', 'b', 'a'].map((key) => uniqueJob(key)))
    expect(rows.map(({ duplicate }) => duplicate)).toEqual([false, false, true, true, true, true])
    const [a, b] = rows
    expect(rows.map(({ id }) => id)).toEqual([a?.id, b?.id, a?.id, taken?.id, b?.id, a?.id])
    expect(await store.peek.live()).toBe(3)
  })

  test('a key is one for each name of a job', async () => {
    await using store = await open()
    await store.queue.enqueue([uniqueJob('a')])
    const [row] = await store.queue.enqueue([uniqueJob('a', {}, { job: 'other' })])
    expect(row?.duplicate).toBe(false)
  })

  test('of enqueuers at the same time exactly one wins each key', async () => {
    await using store = await open()
    const keys = Array.from({ length: 100 }, (_, n) => `k${n}`)
    // Each in an order of its own, in bulk and one by one.
    const answers = await Promise.all(
      [store.queue, store.other, store.queue, store.other].map(async (queue, nth) => {
        const place = (key: string): number => (Number(key.slice(1)) * 7919 * (nth + 1)) % 100
        const mine = keys.toSorted((x, y) => place(x) - place(y))
        const bulk = await queue.enqueue(mine.slice(0, 50).map((key) => uniqueJob(key)))
        const single = await Promise.all(mine.slice(50).map((key) => queue.enqueue([uniqueJob(key)])))
        return [...bulk, ...single.flat()].map((row, at) => ({ ...row, key: mine[at] }))
      }),
    )
    for (const key of keys) {
      const rows = answers.flat().filter((answer) => answer.key === key)
      expect(rows.filter(({ duplicate }) => !duplicate)).toHaveLength(1)
      expect(new Set(rows.map(({ id }) => id)).size).toBe(1)
    }
    expect(await store.peek.live()).toBe(100)
  })

  test('a key until start is free when its job is claimed, and not before', async () => {
    await using store = await open()
    const [first] = await store.queue.enqueue([uniqueJob('a', { until: 'start' })])
    expect(await store.queue.enqueue([uniqueJob('a', { until: 'start' })])).toMatchObject([
      { id: first?.id, duplicate: true },
    ])
    const taken = await takeOne(store.queue)
    const [second] = await store.queue.enqueue([uniqueJob('a', { until: 'start' })])
    expect(second).toMatchObject({ duplicate: false })
    // The end of the first leaves the key of the second alone.
    expect(await settle(store.queue, taken, completed(taken))).toBe(true)
    expect(await store.queue.enqueue([uniqueJob('a', { until: 'start' })])).toMatchObject([
      { id: second?.id, duplicate: true },
    ])
  })

  test.each([
    ['success', completed],
    ['death', buried],
    ['a discard', (taken: Parameters<typeof buried>[0]) => buried(taken, 'discarded')],
    ['a cancel', (taken: Parameters<typeof buried>[0]) => buried(taken, 'cancelled')],
    ['a quarantine', (taken: Parameters<typeof buried>[0]) => buried(taken, 'quarantined')],
  ])('a key is free after %s', async (_, endingOf) => {
    await using store = await open()
    await store.queue.enqueue([uniqueJob('a')])
    const taken = await takeOne(store.queue)
    expect(await isFree(store)).toBe(false)
    expect(await settle(store.queue, taken, endingOf(taken))).toBe(true)
    expect(await isFree(store)).toBe(true)
    expect(await store.queue.enqueue([uniqueJob('a')])).toMatchObject([{ duplicate: false }])
  })

  test.each(['cancel', 'discard'] as const)('a key is free after a %s by a person', async (action) => {
    await using store = await open()
    const [row] = await store.queue.enqueue([uniqueJob('a')])
    expect(await store.queue.act('jobs', { ids: [row?.id ?? 0], action, reason: 'enough' })).toBe(1)
    expect(await isFree(store)).toBe(true)
  })

  test('a key is free when its job has killed three workers', async () => {
    await using store = await open()
    await store.queue.enqueue([uniqueJob('a')])
    for (let n = 0; n < 3; n++) await crash(store.queue, store.peek, await takeOne(store.queue))
    expect(await isFree(store)).toBe(true)
  })

  test.each([
    ['tries again', postponed],
    ['goes back', released],
  ])('a job that %s keeps its key', async (_, endingOf) => {
    await using store = await open()
    const [row] = await store.queue.enqueue([uniqueJob('a')])
    const taken = await takeOne(store.queue)
    expect(await settle(store.queue, taken, endingOf(taken))).toBe(true)
    expect(await store.queue.enqueue([uniqueJob('a')])).toMatchObject([{ id: row?.id, duplicate: true }])
  })

  test('a key is taken over when its time is over, and the old job frees nothing then', async () => {
    await using store = await open()
    await store.queue.enqueue([uniqueJob('a', { forMs: 3_600_000 })])
    const old = await takeOne(store.queue)
    await store.peek.passTime(3_700_000)
    const [next] = await store.queue.enqueue([uniqueJob('a', { forMs: 3_600_000 })])
    expect(next).toMatchObject({ duplicate: false })
    expect(await settle(store.queue, old, completed(old))).toBe(true)
    expect(await store.queue.enqueue([uniqueJob('a', { forMs: 3_600_000 })])).toMatchObject([
      { id: next?.id, duplicate: true },
    ])
  })

  test('the time of a key counts from the moment at which its job may run', async () => {
    await using store = await open()
    const [row] = await store.queue.enqueue([uniqueJob('a', { forMs: 3_600_000 }, { delayMs: 86_400_000 })])
    const job = await store.queue.read('job', { id: row?.id ?? 0 })
    const [key] = await store.queue.read('keys', { name: 'plain', limit: 1 })
    expect(Number(key?.expires_at) - Number(job?.runAt)).toBe(3_600_000)
  })

  test('keys that are taken can be seen and released by hand', async () => {
    await using store = await open()
    const [row] = await store.queue.enqueue([uniqueJob('a'), uniqueJob('b'), plainJob()])
    expect(await store.queue.read('keys', { name: 'plain', limit: 1 })).toHaveLength(1)
    expect(await store.queue.read('keys', { name: 'other', limit: 9 })).toEqual([])
    const key = { name: 'plain', key: 'a', job_id: row?.id, until: 'success', expires_at: null }
    expect(await store.queue.read('keys', { name: null, limit: 9 })).toContainEqual(key)
    expect(await store.queue.act('unlock', { name: 'plain', key: 'a', who: {} })).toBe(true)
    expect(await store.queue.act('unlock', { name: 'plain', key: 'a', who: {} })).toBe(false)
    expect(await store.queue.enqueue([uniqueJob('a')])).toMatchObject([{ duplicate: false }])
  })
}
