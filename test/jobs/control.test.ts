import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { drained, jobWorker, liveJobs, openClient, startedWorker, withLedger } from '../support/jobs.ts'
import { isWaiting } from '../support/locks.ts'
import { until } from '../support/wait.ts'

const numbered = z.object({ n: z.number() })
const many = (length: number): { n: number }[] => Array.from({ length }, (_, n) => ({ n }))
const noop = defineJob({ name: 'noop', args: numbered, perform: () => undefined })
const doomed = defineJob({
  name: 'doomed',
  args: numbered,
  retry: false,
  perform() {
    throw new Error('no')
  },
})

/** Runs until its signal aborts. */
const endless = defineJob({
  name: 'endless',
  async perform({ signal }) {
    await sleep(60_000, undefined, { signal })
  },
})

describe('retry', () => {
  test('takes up a dead job again, as if it were new, with its past', async () => {
    await using db = await testDatabase()
    let broken = true
    const mended = defineJob({
      name: 'mended',
      args: numbered,
      retry: { attempts: 2, wait: 20 },
      perform() {
        if (broken) throw new Error('no')
      },
    })
    await using worker = await startedWorker(db, [mended])
    const { id } = await worker.jobs.enqueue(mended, { n: 7 }, { tags: ['x'], queue: 'q', priority: 'high' })
    await worker.events.event('job.died')
    await worker.sluice.stop()
    broken = false
    const kept = { args: { n: 7 }, tags: ['x'], queue: 'q', priority: 'high', attempt: 0 }
    expect(await worker.jobs.retry(id)).toMatchObject({ id, state: 'waiting', ...kept })
    await worker.sluice.start()
    expect(await worker.events.event('job.finished')).toMatchObject({ jobId: id, attempt: 1 })
    const { attempts, state } = await worker.jobs.get(id)
    expect(state).toBe('succeeded')
    expect(attempts.map(({ verdict }) => verdict)).toEqual(['retry', 'dead'])
    await expect(worker.jobs.retry(id)).rejects.toMatchObject({ code: 'JOB_STATE', details: { state: 'succeeded' } })
  })

  test('takes up a job that a person has cancelled while it ran, and forgets that wish', async () => {
    await using db = await testDatabase()
    let quick = false
    const changing = defineJob({
      name: 'changing',
      async perform({ signal }) {
        if (!quick) await sleep(60_000, undefined, { signal })
      },
    })
    await using worker = await startedWorker(db, [changing])
    const { id } = await worker.jobs.enqueue(changing)
    await worker.events.event('job.started')
    await worker.jobs.cancel(id)
    await worker.events.event('job.cancelled')
    quick = true
    await worker.jobs.retry(id)
    expect(await worker.events.event('job.finished')).toMatchObject({ jobId: id })
  })

  test('lets a keyed job take its turn', async () => {
    await using db = await testDatabase()
    const keyed = defineJob({
      name: 'keyed',
      args: numbered,
      concurrency: { limit: 1, key: () => 'k' },
      perform: () => undefined,
    })
    await using worker = jobWorker(db, [keyed])
    const [first, second] = await worker.jobs.enqueueMany(keyed, many(2))
    await worker.jobs.discard(first?.id ?? 0)
    expect(await worker.jobs.retry(first?.id ?? 0)).toMatchObject({ state: 'blocked', key: 'k' })
    await worker.sluice.start()
    await worker.events.event('job.finished', { nth: 2 })
    expect(
      worker.events.all.filter(({ event }) => event === 'job.finished').map(({ payload }) => payload),
    ).toMatchObject([{ jobId: second?.id }, { jobId: first?.id }])
  })
})

describe('run, discard and cancel', () => {
  test('a waiting job is discarded or cancelled at once, with the reason', async () => {
    await using db = await testDatabase()
    await using worker = jobWorker(db, [noop])
    const [a, b, c] = (await worker.jobs.enqueueMany(noop, many(3))).map(({ id }) => id)
    expect(await worker.jobs.discard(a ?? 0)).toMatchObject({ state: 'discarded', reason: 'discarded by a person' })
    expect(await worker.jobs.cancel(b ?? 0, { reason: 'wrong customer' })).toMatchObject({
      state: 'cancelled',
      reason: 'wrong customer',
      args: { n: 1 },
    })
    expect((await worker.jobs.list()).jobs.map(({ id }) => id)).toEqual([c])
  })

  test('a running job is told by its signal', async () => {
    await using db = await testDatabase()
    await using worker = await startedWorker(db, [endless])
    const { id } = await worker.jobs.enqueue(endless)
    await worker.events.event('job.started')
    expect(await worker.jobs.cancel(id, { reason: 'too slow' })).toMatchObject({ state: 'running' })
    expect(await worker.events.event('job.cancelled')).toMatchObject({ jobId: id })
    expect(await worker.jobs.get(id)).toMatchObject({
      state: 'cancelled',
      reason: 'too slow',
      attempts: [{ verdict: 'cancelled', reason: 'too slow' }],
    })
  })

  test('a running job in another process is told, too, and one that does not listen is left behind', async () => {
    await using db = await testDatabase()
    const deaf = defineJob({ name: 'deaf', perform: () => new Promise<void>(() => undefined) })
    await using worker = await startedWorker(db, [deaf])
    await using person = jobWorker(db, [])
    const { id } = await person.jobs.enqueue(deaf)
    await worker.events.event('job.started')
    await person.jobs.cancel(id)
    expect((await person.jobs.wait(id)).state).toBe('cancelled')
  })

  test('a running transaction is told, and nothing of it is committed', async () => {
    await using db = await withLedger(await testDatabase())
    const inside = defineJob({
      name: 'inside',
      transaction: true,
      async perform({ tx, signal }) {
        await tx.query(`insert into ledger (note) values ('never')`, [])
        await sleep(60_000, undefined, { signal }).catch(() => undefined)
      },
    })
    await using worker = await startedWorker(db, [inside], {}, { timeouts: { idleInTransaction: '1m' } })
    const { id } = await worker.jobs.enqueue(inside)
    await worker.events.event('job.started')
    await until(
      'it has written',
      async () =>
        (await db.value<number>(`select count(*)::int from pg_stat_activity
      where application_name = 'sluice work' and state = 'idle in transaction' and datname = current_database()`)) > 0,
    )
    await worker.jobs.cancel(id)
    expect((await worker.jobs.wait(id)).state).toBe('cancelled')
    expect(await db.value('select count(*)::int from ledger')).toBe(0)
  })

  test('a retrying job that was asked to end does not begin again', async () => {
    await using db = await testDatabase()
    let runs = 0
    const failing = defineJob({
      name: 'failing',
      retry: { attempts: 50, wait: 10 },
      async perform() {
        runs += 1
        await sleep(700)
        throw new Error('again')
      },
    })
    await using worker = await startedWorker(db, [failing])
    const { id } = await worker.jobs.enqueue(failing)
    await worker.events.event('job.started')
    await worker.jobs.cancel(id)
    expect((await worker.jobs.wait(id, { everyMs: 20 })).state).toBe('cancelled')
    expect(runs).toBe(1)
  })

  test('what makes no sense is refused with the state of the job', async () => {
    await using db = await testDatabase()
    await using worker = await startedWorker(db, [endless, noop])
    const running = await worker.jobs.enqueue(endless)
    await worker.events.event('job.started')
    await expect(worker.jobs.discard(running.id)).rejects.toMatchObject({
      code: 'JOB_STATE',
      details: { state: 'running', verb: 'discard' },
    })
    await expect(worker.jobs.run(running.id)).rejects.toMatchObject({ code: 'JOB_STATE' })
    await expect(worker.jobs.retry(running.id)).rejects.toMatchObject({ code: 'JOB_STATE' })
    const done = await worker.jobs.enqueue(noop, { n: 1 })
    await worker.events.event('job.finished')
    await expect(worker.jobs.cancel(done.id)).rejects.toMatchObject({ code: 'JOB_STATE' })
    for (const id of [999_999, 0, -1, 0.5, Number.NaN]) {
      await expect(worker.jobs.get(id)).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
      await expect(worker.jobs.cancel(id)).rejects.toMatchObject({ code: 'JOB_NOT_FOUND' })
    }
    await worker.jobs.cancel(running.id)
  })
})

test('who waits to end a job that somebody has locked holds up no claim', async () => {
  await using db = await testDatabase()
  await using worker = jobWorker(db, [noop])
  const [first] = await worker.jobs.enqueueMany(noop, many(1), { queue: 'paused' })
  await worker.sluice.queues.pause('paused')
  await using other = await openClient(db.url)
  await other.query('begin')
  await other.query('select from sluice.job where id = $1 for update', [first?.id])
  const ended = worker.jobs.cancel(first?.id ?? 0)
  await until('it waits', () => isWaiting(db, '%end_waiting%'))

  await worker.sluice.start()
  const { id } = await worker.jobs.enqueue(noop, { n: 2 })
  expect(await worker.jobs.wait(id)).toMatchObject({ state: 'succeeded' })

  await other.query('rollback')
  expect(await ended).toMatchObject({ state: 'cancelled' })
})

describe('in bulk', () => {
  test('all jobs of a query are retried by a job of its own, which can be watched', async () => {
    await using db = await testDatabase()
    let broken = true
    const mended = defineJob({
      name: 'mended',
      args: numbered,
      retry: false,
      perform() {
        if (broken) throw new Error('no')
      },
    })
    await using worker = await startedWorker(db, [mended, doomed], { concurrency: 20 })
    await worker.jobs.enqueueMany(mended, many(1_200))
    await worker.jobs.enqueueMany(doomed, many(10))
    await drained(db)
    broken = false
    const { id } = await worker.jobs.bulk('retry', { states: ['dead'], name: 'mended' })
    expect(await worker.jobs.wait(id)).toMatchObject({ name: 'sluice.bulk', queue: 'sluice', state: 'succeeded' })
    await drained(db)
    const logged = worker.events.all.filter(({ event }) => event === 'job.logged').map(({ payload }) => payload)
    expect(logged.at(-1)).toMatchObject({ jobId: id, fields: { done: 1_200 } })
    expect(logged).toHaveLength(3)
    expect(await db.value(`select count(*)::int from sluice.job_dead`)).toBe(10)
    expect(await db.value(`select count(*)::int from sluice.job_history where id <> $1`, [id])).toBe(1_200)
  })

  test.each([
    ['cancel', { in: '1h' }, 'cancelled'],
    ['discard', {}, 'discarded'],
  ] as const)('all jobs of a query can meet a %s', async (action, options, state) => {
    await using db = await testDatabase()
    await using worker = await startedWorker(db, [])
    await worker.jobs.enqueueMany(noop, many(30), { ...options, tags: ['bad'] })
    await worker.jobs.enqueueMany(noop, many(5), options)
    const { id } = await worker.jobs.bulk(action, { tag: 'bad' })
    await worker.jobs.wait(id)
    expect((await worker.jobs.list({ states: [state] })).jobs).toHaveLength(30)
    expect(await liveJobs(db)).toBe(5)
  })

  test('makes its names known before its transaction begins, in which it could wait for itself', async () => {
    await using db = await testDatabase()
    await using person = jobWorker(db, [])
    await using other = await openClient(db.url)
    await other.query('begin; lock table sluice.job_class in share mode')
    const bulk = person.jobs.bulk('cancel', { tag: 'x' })
    await until('it waits for the lock', () => isWaiting(db))
    const idle = `select count(*)::int from pg_stat_activity
      where datname = current_database() and usename = 'test_worker' and state = 'idle in transaction'`
    expect(await db.value(idle)).toBe(0)
    await other.query('commit')
    expect(await bulk).toMatchObject({ duplicate: false })
  })

  test('it can be cancelled half way', async () => {
    await using db = await testDatabase()
    await using person = jobWorker(db, [])
    const enqueued = await person.jobs.enqueueMany(noop, many(1_500), { in: '1h' })
    // A lock on a job of the second page holds the action up there.
    const locked = enqueued.at(-700)?.id
    await using other = await openClient(db.url)
    await other.query('begin')
    await other.query('select from sluice.job where id = $1 for update', [locked])
    await using worker = await startedWorker(db, [])
    const { id } = await person.jobs.bulk('cancel', { name: 'noop' })
    expect(await worker.events.event('job.logged')).toMatchObject({ fields: { done: 500 } })
    await person.jobs.cancel(id)
    expect((await person.jobs.wait(id)).state).toBe('cancelled')
    await other.query('rollback')
    // The page that was under way may still take effect; the one behind it does not.
    expect(await db.value(`select count(*)::int from sluice.job`)).toBeGreaterThanOrEqual(500)
  })
})
