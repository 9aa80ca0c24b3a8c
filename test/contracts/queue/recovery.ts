import { expect, test } from 'vitest'
import { completed, crash, idsOf, many, plainJob, settle, take, takeOne, workerOf, type QueueStore } from './place.ts'

export function recovery(open: () => Promise<QueueStore>): void {
  test('what a silent worker holds is freed, and its crash is counted', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const taken = await takeOne(store.queue)
    const { id } = taken.job
    const { workerId } = taken.worker
    expect(await crash(store.queue, store.peek, taken)).toMatchObject({
      freed: [{ id, name: 'plain', workerId, crashes: 1 }],
      isolated: [],
    })
    const job = (await store.queue.read('job', { id })) ?? expect.unreachable()
    expect(job).toMatchObject({ state: 'waiting', crashes: 1 })
    expect(await store.queue.read('attempts', job)).toMatchObject([{ attempt: 1, verdict: 'crash', workerId }])
    expect(await settle(store.queue, taken, completed(taken))).toBe(false)
    expect((await takeOne(store.queue)).job).toMatchObject({ id, attempt: 2, crashes: 1 })
  })

  test('what was claimed a moment ago is left alone', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const taken = await takeOne(store.queue)
    const { freed } = await store.queue.rescue(workerOf(), { silent: { leaseMs: 600_000, crashes: 3 } })
    expect(freed).toEqual([])
    expect(await settle(store.queue, taken, completed(taken))).toBe(true)
  })

  test('what a silent worker has settled is not freed with the rest', async () => {
    await using store = await open()
    await store.queue.enqueue(many(3))
    const taken = await take(store.queue)
    const [first = expect.unreachable()] = taken
    await settle(store.queue, first, completed(first))
    const { freed } = await crash(store.queue, store.peek, first)
    const ids = freed.map(({ id }) => id).toSorted((a, b) => a - b)
    expect(ids).toEqual(idsOf(taken.slice(1)))
  })

  test('what comes back from the dead comes only where it can begin at once', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    await crash(store.queue, store.peek, await takeOne(store.queue))
    expect(await take(store.queue, { free: 0 })).toEqual([])
    expect(await take(store.queue, { free: 1 })).toHaveLength(1)
  })

  test('jobs on which two workers died come one at a time', async () => {
    await using store = await open()
    await store.queue.enqueue(many(2))
    for (let n = 0; n < 2; n++) {
      const [first = expect.unreachable()] = await take(store.queue)
      await crash(store.queue, store.peek, first)
    }
    expect(await take(store.queue, { suspects: 0 })).toEqual([])
    expect(await take(store.queue, { suspects: 1 })).toHaveLength(1)
    expect(await take(store.queue, { suspects: 1 })).toHaveLength(1)
  })

  test('a job on which three workers have died is isolated, and never claimed again', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const first = await takeOne(store.queue)
    const { id } = first.job
    await crash(store.queue, store.peek, first)
    await crash(store.queue, store.peek, await takeOne(store.queue))
    expect(await crash(store.queue, store.peek, await takeOne(store.queue))).toMatchObject({
      isolated: [{ id, name: 'plain', queue: 'default', crashes: 3 }],
    })
    expect(await store.queue.read('job', { id })).toMatchObject({ state: 'quarantined', crashes: 3 })
    expect(await take(store.queue)).toEqual([])
  })

  test('a worker gives back what is claimed in its name and unknown to it, and nothing else', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob(0), plainJob(1), plainJob(2)])
    const worker = workerOf()
    const known = await takeOne(store.queue, { worker })
    const forgotten = await takeOne(store.queue, { worker })
    const others = await takeOne(store.queue)
    expect(await store.queue.rescue(worker, { known: new Set([known.claimId]) })).toMatchObject({ returned: 1 })
    expect(worker.hint.notified).toBe(true)
    expect(await settle(store.queue, forgotten, completed(forgotten))).toBe(false)
    for (const taken of [known, others]) expect(await settle(store.queue, taken, completed(taken))).toBe(true)
    expect((await takeOne(store.queue)).job).toMatchObject({ id: forgotten.job.id, attempt: 1, crashes: 0 })
  })
}
