import { expect, test } from 'vitest'
import { claimKey, JobLost, type Ending } from '../../../src/jobs/ending.ts'
import {
  buried,
  completed,
  idsOf,
  many,
  plainJob,
  postponed,
  released,
  settle,
  take,
  takeOne,
  uniqueJob,
  workerOf,
  type Abilities,
  type QueueStore,
  type Taken,
} from './place.ts'

/** What a worker may do to a job that it holds. */
const endings: [string, (taken: Taken) => Ending][] = [
  ['complete', completed],
  ['postpone', postponed],
  ['release', released],
  ['bury', buried],
]

const claimOf = ({ job, claimId }: Taken): { id: number; claimId: string } => ({ id: job.id, claimId })

/** A claim that its worker has lost to another. */
async function lostClaim({ queue }: QueueStore): Promise<{ stale: Taken; fresh: Taken }> {
  await queue.enqueue([uniqueJob('a')])
  const stale = await takeOne(queue)
  await settle(queue, stale, released(stale))
  return { stale, fresh: await takeOne(queue) }
}

export function settling(open: () => Promise<QueueStore>, can: Abilities): void {
  test('a job that has succeeded is in history with its times, and nowhere else', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const taken = await takeOne(store.queue)
    expect(await settle(store.queue, taken, completed(taken))).toBe(true)
    expect(await store.peek.live()).toBe(0)
    const ended = { state: 'succeeded', attempt: 1, waitMs: 7, runMs: 11, finishedAt: expect.any(Date) }
    expect(await store.queue.read('job', { id: taken.job.id })).toMatchObject(ended)
  })

  test('many are settled in one call, whatever became of them', async () => {
    await using store = await open()
    await store.queue.enqueue(many(4))
    const taken = await take(store.queue)
    const [a, b, c] = taken as [Taken, Taken, Taken]
    const written = [completed(a), postponed(b, { delayMs: 60_000 }), buried(c)]
    const settled = await store.queue.settle(a.worker, { endings: written, emptyClaims: [] })
    expect(settled === 'busy' ? [] : settled.kept.toSorted((x, y) => x - y)).toEqual(idsOf([a, b, c]))
    const states = await Promise.all(idsOf(taken).map(async (id) => (await store.queue.read('job', { id }))?.state))
    expect(states).toEqual(['succeeded', 'scheduled', 'dead', 'running'])
  })

  test('a job that is to be tried again comes after its wait, with its failures', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const first = await takeOne(store.queue)
    await settle(store.queue, first, postponed(first, { delayMs: 3_600_000, tries: { rule: 1 } }))
    expect(await store.queue.read('job', { id: first.job.id })).toMatchObject({ state: 'scheduled', attempt: 1 })
    expect(await take(store.queue)).toEqual([])
    await store.peek.passTime(3_700_000)
    const again = await takeOne(store.queue)
    expect(again.job).toMatchObject({ id: first.job.id, attempt: 2, tries: { rule: 1 } })
    const job = (await store.queue.read('job', { id: first.job.id })) ?? expect.unreachable()
    const attempt = { attempt: 1, verdict: 'retry', reason: 'not yet', runMs: 11, workerId: first.worker.workerId }
    expect(await store.queue.read('attempts', job)).toMatchObject([{ ...attempt, error: { message: 'not yet' } }])
  })

  test('a snooze counts as no attempt', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const first = await takeOne(store.queue)
    await settle(store.queue, first, postponed(first, { verdict: 'snooze', error: null, counts: false }))
    expect((await takeOne(store.queue)).job).toMatchObject({ id: first.job.id, attempt: 1 })
  })

  test('a job that goes back is there at once, as if it had not been claimed', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const first = await takeOne(store.queue)
    await settle(store.queue, first, released(first))
    const job = (await store.queue.read('job', { id: first.job.id })) ?? expect.unreachable()
    expect(job).toMatchObject({ state: 'waiting', attempt: 0 })
    expect(await store.queue.read('attempts', job)).toEqual([])
    expect((await takeOne(store.queue)).job).toMatchObject({ id: first.job.id, attempt: 1 })
  })

  test.each(['dead', 'discarded', 'cancelled', 'quarantined'] as const)(
    'a job that is %s is kept with its reason, its error and all that it had',
    async (outcome) => {
      await using store = await open()
      await store.queue.enqueue([plainJob(3, { tags: ['t'] })])
      const taken = await takeOne(store.queue)
      await settle(store.queue, taken, buried(taken, outcome))
      expect(await store.peek.live()).toBe(0)
      const rest = { reason: 'because', error: { message: 'no' }, args: { n: 3 }, tags: ['t'] }
      expect(await store.queue.read('job', { id: taken.job.id })).toMatchObject({ state: outcome, ...rest })
      expect(await take(store.queue)).toEqual([])
    },
  )

  test.each(endings)('a stale worker cannot %s a job that another worker has claimed since', async (_, endingOf) => {
    await using store = await open()
    const { stale, fresh } = await lostClaim(store)
    expect(await settle(store.queue, stale, endingOf(stale))).toBe(false)
    expect(await store.queue.read('job', { id: fresh.job.id })).toMatchObject({ state: 'running', attempt: 1 })
    expect(await store.queue.read('keys', { name: null, limit: 9 })).toHaveLength(1)
    expect(await settle(store.queue, fresh, endingOf(fresh))).toBe(true)
  })

  test.each(endings)('to %s a job twice has one effect', async (_, endingOf) => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const taken = await takeOne(store.queue)
    expect(await settle(store.queue, taken, endingOf(taken))).toBe(true)
    const before = await store.queue.read('job', { id: taken.job.id })
    expect(await settle(store.queue, taken, endingOf(taken))).toBe(false)
    expect(await store.queue.read('job', { id: taken.job.id })).toEqual(before)
  })

  test('a worker sees which of its claims are held, are to end, and are lost', async () => {
    await using store = await open()
    const { stale, fresh } = await lostClaim(store)
    await store.queue.enqueue([plainJob()])
    const other = await takeOne(store.queue)
    await store.queue.act('jobs', { ids: [other.job.id], action: 'cancel', reason: 'enough' })
    const claims = [stale, fresh, other].map(claimOf)
    const fates = await store.queue.look(fresh.worker, claims)
    expect(claims.map((claim) => fates.get(claimKey(claim)))).toEqual([undefined, 'held', { cancelling: 'enough' }])
  })

  test('after a lost answer it can be seen who completed a job', async () => {
    await using store = await open()
    const { stale, fresh } = await lostClaim(store)
    expect(await settle(store.queue, fresh, completed(fresh))).toBe(true)
    const now = fresh.clockMs + performance.now()
    const time = { fromMs: now - 600_000, untilMs: now + 600_000 }
    const fates = await store.queue.look(fresh.worker, [claimOf(stale), claimOf(fresh)], time)
    expect([...fates]).toEqual([[claimKey(claimOf(fresh)), 'completed']])
  })

  test.runIf(can.transactions)('work and ending commit together', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const taken = await takeOne(store.queue)
    const held = { ...claimOf(taken), name: 'plain', sinceMs: 0 }
    const ending = await store.queue.transact(taken.worker, held, async (tx) => {
      await store.peek.note(tx, 'done')
      expect(await store.peek.notes()).toEqual([])
      return completed(taken)
    })
    expect(ending).toEqual(completed(taken))
    expect(await store.peek.notes()).toEqual(['done'])
    expect(await store.queue.read('job', { id: taken.job.id })).toMatchObject({ state: 'succeeded' })
  })

  test.runIf(can.transactions)('work that fails leaves nothing behind, and its job claimed', async () => {
    await using store = await open()
    await store.queue.enqueue([plainJob()])
    const taken = await takeOne(store.queue)
    const held = { ...claimOf(taken), name: 'plain', sinceMs: 0 }
    const failing = store.queue.transact(taken.worker, held, async (tx) => {
      await store.peek.note(tx, 'half')
      throw new Error('failed')
    })
    await expect(failing).rejects.toThrow('failed')
    expect(await store.peek.notes()).toEqual([])
    expect(await settle(store.queue, taken, postponed(taken))).toBe(true)
  })

  test.runIf(can.transactions)('work under a stale claim does not begin', async () => {
    await using store = await open()
    const { stale, fresh } = await lostClaim(store)
    let begun = false
    const held = { ...claimOf(stale), name: 'plain', sinceMs: 0 }
    const working = store.queue.transact(workerOf(), held, async () => {
      begun = true
      return completed(stale)
    })
    await expect(working).rejects.toBeInstanceOf(JobLost)
    expect(begun).toBe(false)
    expect(await settle(store.queue, fresh, completed(fresh))).toBe(true)
  })
}
