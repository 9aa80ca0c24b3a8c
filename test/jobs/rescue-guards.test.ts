import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { keepJobs } from '../../src/jobs/chores.ts'
import { unclaim } from '../../src/store/jobs/claim.ts'
import { quarantinePoison, rescueJobs } from '../../src/store/jobs/rescue.ts'
import { held, postpone } from '../../src/store/jobs/settle.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { onClient, testDatabase, type TestDatabase } from '../support/database.ts'
import { EventLog } from '../support/events.ts'
import { claimedJobs, jobWorker, openClient } from '../support/jobs.ts'
import { claimByHand } from './claim-by-hand.ts'
import { openStore, queueOn, workerOf } from './store-by-hand.ts'

const plain = defineJob({ name: 'plain', perform: () => undefined })
const keyed = defineJob({ name: 'keyed', concurrency: { limit: 1, key: () => 'k' }, perform: () => undefined })
const leaseMs = 600_000

/** Two jobs, and a claim on both by a worker that has not been heard of for an hour. */
async function withDeadWorker(db: TestDatabase): Promise<[number, number]> {
  await using client = jobWorker(db, [plain])
  const first = await client.jobs.enqueue(plain)
  const second = await client.jobs.enqueue(plain)
  await claimByHand(db.workerUrl, 1)
  await db.query(`update sluice.job_claim set claimed_at = now() - interval '1 hour'`)
  return [first.id, second.id]
}

test('a sweep frees what a silent worker holds, and not what others have claimed since', async () => {
  await using db = await testDatabase()
  await using store = await openStore(db)
  const [first, second] = await withDeadWorker(db)
  const setback = { id: first, claimId: '1', verdict: 'release', reason: 'r', delayMs: 0, counts: false } as const
  const rest = { error: null, tries: null, runMs: 0 }
  await postpone(store.control, { setbacks: [{ ...setback, ...rest }], workerId: crypto.randomUUID() })
  expect((await claimByHand(db.workerUrl, 2)).ids).toEqual([first])

  expect(await rescueJobs(store.control, { leaseMs })).toMatchObject([{ id: second, crashes: 1 }])

  expect(await held(store.control, { claims: [{ id: first, claimId: '2' }] })).toEqual([{ id: first }])
  expect(await db.value('select crashes from sluice.job where id = $1', [first])).toBe(0)
  expect(await db.query('select id::int from sluice.job_claim')).toEqual([{ id: 2 }])
})

test('a sweep frees nothing of a worker that gives signs of life', async () => {
  await using db = await testDatabase()
  await using store = await openStore(db)
  await withDeadWorker(db)
  await db.query(`insert into sluice.worker (id, host, pid, version, operations)
    select worker_id, 'here', 1, '0', '{}' from sluice.job_claim`)

  expect(await rescueJobs(store.control, { leaseMs })).toEqual([])

  expect(await claimedJobs(db)).toBe(2)
})

test('a sweep leaves a job that a transaction has locked to the next sweep, and its claim with it', async () => {
  await using db = await testDatabase()
  await using sweeper = await openClient(db.workerUrl)
  // A sweep that waits for the lock fails instead.
  await sweeper.query(`set lock_timeout = '1s'`)
  const [first, second] = await withDeadWorker(db)
  await using stalled = await openClient(db.workerUrl)
  await stalled.query('begin')
  await stalled.query('select from sluice.job where id = $1 for update', [first])

  const store = onClient(sweeper)
  expect(await rescueJobs(store, { leaseMs })).toMatchObject([{ id: String(second) }])

  // Without its claim the new job would look as if nobody had it.
  expect((await claimByHand(db.workerUrl, 2)).ids).toEqual([second])
  await stalled.query('rollback')
  expect(await rescueJobs(store, { leaseMs })).toMatchObject([{ id: String(first) }])
  expect(await db.value('select count(*)::int from sluice.job_claim where id = 1')).toBe(0)
})

test('a job on which three workers have died is isolated, and never claimed again', async () => {
  await using db = await testDatabase()
  await using store = await openStore(db)
  const [first, second] = await withDeadWorker(db)
  await rescueJobs(store.control, { leaseMs })
  await db.query('update sluice.job set crashes = case id when $1 then 3 else 2 end', [first])

  expect((await claimByHand(db.workerUrl, 2)).ids).toEqual([second])
  await unclaim(store.control, { claimIds: ['2'] })

  expect(await quarantinePoison(store.control, { crashes: 3 })).toMatchObject([{ id: first, crashes: 3 }])
  expect(await db.query('select id::int, outcome from sluice.job_dead')).toEqual([
    { id: first, outcome: 'quarantined' },
  ])
  expect(await db.query('select id::int from sluice.job')).toEqual([{ id: second }])
})

test('a sweep of a worker frees, isolates and lets in', async () => {
  await using db = await testDatabase()
  await using database = await openStore(db)
  const [first, second] = await withDeadWorker(db)
  // The sweep counts one more.
  await db.query('update sluice.job set crashes = case id when $1 then 2 else 1 end', [first])
  await using client = jobWorker(db, [keyed])
  await using tx = await openClient(db.workerUrl)
  await tx.query('begin')
  const blocked = await client.jobs.enqueue(keyed, undefined, { tx })
  await tx.query('commit')
  const telemetry = new Telemetry()
  const events = new EventLog()
  telemetry.onAny((event) => events.push(event))
  const over = new AbortController()
  const worker = workerOf([keyed])
  const kept = { keepDays: 7, keepDeadDays: 7 }

  const keeping = keepJobs({
    queue: queueOn(database, telemetry),
    worker,
    telemetry,
    leaseMs,
    kept,
    signal: over.signal,
  })
  await events.event('job.quarantined')
  over.abort()
  await keeping

  // It is woken for the jobs that were freed.
  expect(worker.hint.notified).toBe(true)

  expect(new Set(events.payloads('job.rescued').map(({ jobId }) => jobId))).toEqual(new Set([first, second]))
  expect(events.payloads('job.quarantined').map(({ jobId }) => jobId)).toEqual([first])
  expect(await client.jobs.get(blocked.id)).toMatchObject({ state: 'waiting' })
  expect(events.count('warning')).toBe(0)
})
