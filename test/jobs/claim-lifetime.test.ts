import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { Attempt, endingOf } from '../../src/jobs/attempt.ts'
import { Completer } from '../../src/jobs/completer.ts'
import { JobLost, type Ending } from '../../src/jobs/ending.ts'
import type { JobQueue } from '../../src/jobs/queue.ts'
import { watchClaims } from '../../src/jobs/watch.ts'
import type { Database } from '../../src/store/database.ts'
import { claim, unclaim } from '../../src/store/jobs/claim.ts'
import { rescueJobs } from '../../src/store/jobs/rescue.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { drained, jobWorker, startedWorker, withLedger } from '../support/jobs.ts'
import { claimByHand } from './claim-by-hand.ts'
import { openStore, patient, queueOn, workerOf } from './store-by-hand.ts'

const plain = defineJob({ name: 'plain', perform: () => undefined })
const workerId = crypto.randomUUID()
/** By which every worker counts as dead. */
const leaseMs = -3_600_000

/** Claims as a worker does, and gives what it would run. */
async function attemptsOf(db: TestDatabase, { control }: Database): Promise<Attempt[]> {
  const queueId = await db.value<number>(`select id from sluice.queue where name = 'default'`)
  const lanes = [{ queueId, priority: 1, floor: 0 }]
  const order = { claimId: '1', workerId, names: ['plain'], queueIds: [queueId], lanes }
  const floor = { life: null, seq: '0' }
  const { jobs, serverMs } = await claim(control, { ...order, limit: 10, free: 10, suspects: 1, floor })
  const clockMs = serverMs - performance.now()
  const origin = { claimId: '1', definition: plain, queue: 'default', now: Date.now(), clockMs }
  return jobs.map((job) => new Attempt(job, origin))
}

test('nobody takes over a transactional job while its transaction is open', async () => {
  await using db = await withLedger(await testDatabase())
  await using store = await openStore(db)
  let runs = 0
  const inside = defineJob({
    name: 'inside',
    transaction: true,
    async perform({ tx }) {
      runs += 1
      await tx.query(`insert into ledger (note) values ('done')`, [])
      if (runs === 1) await rescueJobs(store.control, { leaseMs })
    },
  })
  await using worker = await startedWorker(db, [inside], {}, patient)
  await worker.jobs.enqueue(inside)
  await drained(db)
  expect(await db.value('select count(*)::int from ledger')).toBe(1)
  expect(await db.value('select count(*)::int from sluice.job_history')).toBe(1)
})

test('a transactional job that was taken over before its turn does not begin', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await using database = await openStore(db)
  await client.jobs.enqueue(plain)
  const [attempt = expect.unreachable()] = await attemptsOf(db, database)
  await unclaim(database.control, { claimIds: ['1'] })
  await claimByHand(db.workerUrl, 2)
  let begun = false
  const work = async (): Promise<Ending> => {
    begun = true
    return endingOf(undefined, attempt, 0)
  }

  const held = { id: attempt.job.id, claimId: attempt.claimId, name: 'plain', sinceMs: 0 }
  const worker = workerOf([plain], { workerId })
  await expect(queueOn(database).transact(worker, held, work)).rejects.toBeInstanceOf(JobLost)

  expect(begun).toBe(false)
})

test('a claim outlives each of its jobs but the last', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await using database = await openStore(db)
  for (let n = 0; n < 2; n++) await client.jobs.enqueue(plain)
  const attempts = await attemptsOf(db, database)
  const worker = workerOf([plain], { workerId })
  const completer = new Completer({ queue: queueOn(database), worker, telemetry: new Telemetry() })
  completer.opened({ claimId: '1', jobs: attempts.map(({ job }) => job) })
  const claims: number[] = []
  for (const { job } of attempts) {
    const proof = { id: job.id, claimId: '1' }
    const ending = { kind: 'completed', ...proof, waitMs: 0, runMs: 0, member: false, keyed: false } as const
    completer.end(attempts[0] ?? expect.unreachable(), ending)
    await completer.drained(new AbortController().signal)
    claims.push(await db.value('select count(*)::int from sluice.job_claim'))
  }
  // Without it, another worker would take the second job for a new one while it runs.
  expect(claims).toEqual([1, 0])
})

test('a handler whose job was taken over is told to stop', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await using database = await openStore(db)
  for (let n = 0; n < 2; n++) await client.jobs.enqueue(plain)
  const [taken = expect.unreachable(), kept = expect.unreachable()] = await attemptsOf(db, database)
  await db.query('update sluice.job set state = 4 where id = $1', [taken.job.id])
  // Only what has run for a while is asked about.
  for (const attempt of [taken, kept]) attempt.since = performance.now() - 60_000
  const over = new AbortController()
  const queue = queueOn(database)
  const asked: JobQueue = Object.create(queue, {
    look: {
      value: async (...asking: Parameters<JobQueue['look']>) => {
        over.abort()
        return queue.look(...asking)
      },
    },
  }) as JobQueue

  await watchClaims(new Set([taken, kept]), { queue: asked, worker: workerOf([plain]), signal: over.signal })

  expect(taken.stop.reason).toBeInstanceOf(JobLost)
  expect(kept.stop.reason).toBeUndefined()
})
