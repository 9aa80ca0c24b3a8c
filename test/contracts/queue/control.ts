import { expect, test } from 'vitest'
import { buried, plainJob, postponed, released, settle, take, takeOne, type QueueStore } from './place.ts'

export function control(open: () => Promise<QueueStore>): void {
  test.each([
    ['cancel', 'cancelled'],
    ['discard', 'discarded'],
  ] as const)('to %s a job that nobody runs ends it at once, with the reason', async (action, state) => {
    await using store = await open()
    const [waiting, later, other] = await store.queue.enqueue([
      plainJob(1),
      plainJob(2, { delayMs: 60_000 }),
      plainJob(3),
    ])
    const ids = [waiting?.id ?? 0, later?.id ?? 0]
    expect(await store.queue.act('jobs', { ids, action, reason: 'wrong customer' })).toBe(2)
    for (const [n, id] of ids.entries()) {
      const ended = { state, reason: 'wrong customer', args: { n: n + 1 } }
      expect(await store.queue.read('job', { id })).toMatchObject(ended)
    }
    expect((await takeOne(store.queue)).job.id).toBe(other?.id)
  })

  test('to cancel a job that runs asks its worker to end it', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const taken = await takeOne(store.queue)
    const { id } = taken.job
    expect(await store.queue.act('jobs', { ids: [id], action: 'discard', reason: 'no' })).toBe(0)
    expect(await store.queue.act('jobs', { ids: [id], action: 'cancel', reason: 'enough' })).toBe(1)
    expect(await store.queue.read('job', { id })).toMatchObject({ state: 'running' })
    // Whoever gets it next is told at once.
    await settle(store.queue, taken, released(taken))
    expect((await takeOne(store.queue)).job).toMatchObject({ id, cancelling: 'enough' })
  })

  test('a scheduled job may run now', async () => {
    await using store = await open()
    const [row] = await store.queue.enqueue([plainJob(0, { delayMs: 86_400_000 })])
    expect(await store.queue.act('jobs', { ids: [row?.id ?? 0], action: 'run', reason: '' })).toBe(1)
    expect((await takeOne(store.queue)).job.id).toBe(row?.id)
  })

  test('a dead job is taken up again as if it were new', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob(5, { tags: ['t'] })])
    const first = await takeOne(store.queue)
    await settle(store.queue, first, postponed(first, { tries: { rule: 1 } }))
    const second = await takeOne(store.queue)
    await settle(store.queue, second, buried(second))
    const { id } = first.job
    expect(await store.queue.act('jobs', { ids: [id], action: 'retry', reason: '' })).toBe(1)
    expect((await takeOne(store.queue)).job).toMatchObject({ id, attempt: 1, tries: null, args: { n: 5 }, tags: ['t'] })
  })

  test('a dead job is discarded as one that nobody needs', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const taken = await takeOne(store.queue)
    await settle(store.queue, taken, buried(taken))
    const { id } = taken.job
    expect(await store.queue.act('jobs', { ids: [id], action: 'discard', reason: 'pointless' })).toBe(1)
    expect(await store.queue.read('job', { id })).toMatchObject({ state: 'discarded', reason: 'pointless' })
  })

  test('nothing is done to a job that is in another state than it was seen in', async () => {
    await using store = await open()
    const [row] = await store.queue.enqueue([plainJob()])
    const ids = [row?.id ?? 0]
    expect(await store.queue.act('jobs', { ids, action: 'cancel', reason: 'no', from: 'scheduled' })).toBe(0)
    expect(await store.queue.act('jobs', { ids, action: 'retry', reason: '' })).toBe(0)
    expect(await store.queue.act('jobs', { ids, action: 'run', reason: '' })).toBe(0)
    expect(await take(store.queue)).toHaveLength(1)
  })

  test('a queue that was seen otherwise is left alone, and one that is not there is told', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const pause = { verb: 'pause', actor: 'ada', after: { paused: true } } as const
    const seen = { ...pause, queue: 'default', who: { expectedState: 'paused' } } as const
    await expect(store.queue.act('queue', seen)).rejects.toMatchObject({ code: 'STATE_CHANGED' })
    expect(await store.queue.act('queue', { ...pause, queue: 'nowhere', who: {} })).toBe(false)
    expect(await store.queue.act('queue', { ...pause, queue: 'default', who: {} })).toBe(true)
    const [queue] = await store.queue.read('queues', undefined)
    expect(queue).toMatchObject({ name: 'default', paused: true, pausedBy: 'ada' })
  })
}
