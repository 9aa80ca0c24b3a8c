import { expect, test } from 'vitest'
import { until } from '../../support/wait.ts'
import { filter, idsOf, many, plainJob, take, workerOf, type Abilities, type QueueStore } from './place.ts'

export function enqueueing(open: () => Promise<QueueStore>, can: Abilities): void {
  test('jobs are recorded in order, each with its id', async () => {
    await using store = await open()
    const rows = await store.queue.enqueue(many(1_500))
    const ids = rows.map(({ id }) => id)
    expect(new Set(ids).size).toBe(1_500)
    expect(rows.every(({ duplicate }) => !duplicate)).toBe(true)
    const listed = await store.queue.read('jobs', filter({ limit: 2_000 }))
    expect(listed.map(({ id }) => id).toReversed()).toEqual(ids)
    expect(listed.map(({ args }) => args).toReversed()).toEqual(ids.map((_, n) => ({ n })))
  })

  test('no job is recorded when there is none', async () => {
    await using store = await open()
    expect(await store.queue.enqueue([])).toEqual([])
    expect(await store.peek.live()).toBe(0)
  })

  test('a job keeps its args, queue, priority and tags', async () => {
    await using store = await open()
    const args = { text: `it's "ünï" \\ 😀`, list: [1, null, true] }
    const more = { queue: 'mail', priority: 'high', tags: ['a', 'b'], args: JSON.stringify(args) } as const
    const [row = expect.unreachable()] = await store.queue.enqueue([plainJob(0, more)])
    const job = { id: row.id, name: 'plain', queue: 'mail', state: 'waiting', priority: 'high', attempt: 0, args }
    expect(await store.queue.read('job', { id: row.id })).toMatchObject({ ...job, tags: ['a', 'b'], crashes: 0 })
    const [taken = expect.unreachable()] = await take(store.queue)
    expect(taken.job).toMatchObject({ id: row.id, name: 'plain', queue: 'mail', attempt: 1, args, tags: ['a', 'b'] })
  })

  test('calls at the same time get a job each', async () => {
    await using store = await open()
    const calls = many(200).map((job, n) => (n % 2 === 0 ? store.queue : store.other).enqueue([job]))
    const ids = (await Promise.all(calls)).map(([row]) => row?.id)
    expect(new Set(ids).size).toBe(200)
    expect(await store.peek.live()).toBe(200)
  })

  test.each([
    ['for so long', (ms: number) => ({ delayMs: ms })],
    ['until a moment', (ms: number) => ({ runAt: new Date(Date.now() + ms).toISOString() })],
  ])('a job waits %s, and not longer', async (_, later) => {
    await using store = await open()
    const [row] = await store.queue.enqueue([plainJob(0, later(3_600_000))])
    expect(await store.queue.read('job', { id: row?.id ?? 0 })).toMatchObject({ state: 'scheduled' })
    expect(await take(store.queue)).toEqual([])
    await store.peek.passTime(3_700_000)
    expect(idsOf(await take(store.queue))).toEqual([row?.id])
  })

  test('a worker that listens is told of new jobs, of its own process and of others', async () => {
    await using store = await open()
    const worker = workerOf()
    const over = new AbortController()
    const listening = store.queue.listen(worker, over.signal)
    await until('it listens', async () => worker.hint.consume())
    for (const process of [store.queue, store.other]) {
      await process.enqueue([plainJob()])
      await until('it is told', async () => worker.hint.consume())
    }
    over.abort()
    await listening
  })

  test('of a process with an idle worker, that worker is told at once', async () => {
    await using store = await open()
    const worker = workerOf(undefined, { idle: true })
    const over = new AbortController()
    const listening = store.queue.listen(worker, over.signal)
    await until('it listens', async () => worker.hint.consume())
    await store.queue.enqueue([plainJob()])
    expect(worker.hint.consume()).toBe(true)
    over.abort()
    await listening
  })

  describeTransactions(open, can)
}

function describeTransactions(open: () => Promise<QueueStore>, can: Abilities): void {
  test.runIf(can.transactions)('a job exists when, and only when, the transaction of its caller commits', async () => {
    await using store = await open()
    const [first, second] = [await store.peek.begin(), await store.peek.begin()]
    const [kept] = await store.queue.enqueue([plainJob(1)], { tx: first.tx })
    await store.queue.enqueue([plainJob(2)], { tx: second.tx })
    expect(await take(store.queue)).toEqual([])
    await first.commit()
    await second.rollback()
    expect(await store.peek.live()).toBe(1)
    expect(idsOf(await take(store.queue))).toEqual([kept?.id])
  })

  test.runIf(can.transactions)('what a person did is written down in one transaction with the job', async () => {
    await using store = await open()
    const audit = { who: { actor: 'ada' }, action: 'jobs.retry', after: { query: {} } }
    const [row] = await store.queue.enqueue([plainJob()], { audit })
    expect(idsOf(await take(store.queue))).toEqual([row?.id])
  })
}
