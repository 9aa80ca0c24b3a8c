import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { Attempt, endingOf } from '../../src/jobs/attempt.ts'
import { Completer } from '../../src/jobs/completer.ts'
import type { Database } from '../../src/store/database.ts'
import { Claimer } from '../../src/store/jobs/claimer.ts'
import { takeTokens } from '../../src/store/jobs/claim.ts'
import { signal } from '../patterns/inbox/ground.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { EventLog } from '../support/events.ts'
import { jobWorker, liveJobs, openClient, shortLease, startedWorker } from '../support/jobs.ts'
import { isWaiting } from '../support/locks.ts'
import { until } from '../support/wait.ts'
import { openStore, queueOn, takenBy, workerOf } from './store-by-hand.ts'

const plain = defineJob({ name: 'plain', perform: () => undefined })
const limited = defineJob({ name: 'limited', queue: 'slow', perform: () => undefined })
const workerId = crypto.randomUUID()
const order = { limit: 10, free: 10, suspects: 1, hinted: false }

async function claimerOn(database: Database): Promise<Claimer> {
  const claimer = new Claimer(database, workerOf([plain], { workerId }))
  await claimer.open()
  return claimer
}

/** A new job on the list of a claim that its worker has never heard of; no other claim is made at the same moment. */
async function strayFor(db: TestDatabase, worker: string): Promise<number> {
  return db.value(
    `with alone as materialized (select sluice.lock_claims()),
       given as (select id from sluice.enqueue('{"job": "plain"}', false))
     insert into sluice.job_claim (id, worker_id, job_ids)
     select 7, $1, range_agg(int8range(id, id, '[]')) from given, alone
     returning lower(job_ids)::int`,
    [worker],
  )
}

test('jobs that were claimed run, although a later claim of the same round fails', async () => {
  await using db = await testDatabase()
  await using worker = jobWorker(db, [plain, limited], {}, { timeouts: { lock: '200ms' } })
  await worker.jobs.enqueue(limited)
  await worker.sluice.queues.limit('slow', { limit: 10, per: '1s' })
  await worker.jobs.enqueueMany(plain, Array.from({ length: 20 }))
  await using other = await openClient(db.url)
  await other.query('begin')
  await other.query(`select from sluice.queue where name = 'slow' for update`)
  await worker.sluice.start()

  await worker.events.event('job.finished', { nth: 20 })

  await other.query('commit')
  await worker.events.event('job.finished', { nth: 21 })
  expect(await liveJobs(db)).toBe(0)
})

test('a worker gives back what is claimed in its name and unknown to it', async () => {
  await using db = await testDatabase()
  await using worker = await startedWorker(db, [plain], {}, { worker: shortLease })
  const id = await strayFor(db, await db.value('select id from sluice.worker'))

  expect(await worker.events.event('job.finished')).toMatchObject({ jobId: id, attempt: 1 })
  expect(await worker.events.event('warning')).toMatchObject({ message: expect.stringMatching(/Gave back 1 job/) })
})

test('a claim whose answer is on its way is no stray', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await using database = await openStore(db)
  const { id } = await client.jobs.enqueue(plain)
  const claimer = await claimerOn(database)
  const answered = signal()
  claimer.sendOn({
    schema: 'sluice',
    async query(text, values) {
      const result = await database.control.query(text, values)
      await answered.given
      return result
    },
  })
  const taking = takenBy(claimer, order)
  await until('the server has claimed', async () => db.value('select count(*) = 1 from sluice.job_claim'))

  expect(await claimer.giveBackStrays(new Set())).toBe(0)

  answered.give()
  expect((await taking).ids).toEqual([id])
  expect(await db.value('select count(*)::int from sluice.job_claim')).toBe(1)
})

test('a claim is no stray until the ending of its last job is written', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await using database = await openStore(db)
  const { id } = await client.jobs.enqueue(plain)
  const claimer = await claimerOn(database)
  const telemetry = new Telemetry()
  const events = new EventLog()
  telemetry.onAny((event) => events.push(event))
  const worker = workerOf([plain], { workerId })
  const completer = new Completer({ queue: queueOn(database), worker, telemetry })
  const [claimed = expect.unreachable()] = (await takenBy(claimer, order)).claims
  completer.opened(claimed)
  const { claimId, jobs, clockMs } = claimed
  const origin = { claimId, definition: plain, queue: 'default', now: Date.now(), clockMs }
  const [attempt = expect.unreachable()] = jobs.map((job) => new Attempt(job, origin))
  await using other = await openClient(db.url)
  await other.query('begin')
  await other.query('select from sluice.job where id = $1 for update', [id])
  completer.end(attempt, endingOf(undefined, attempt, 1))
  await until('the ending waits', async () => isWaiting(db, '%complete_jobs%'))

  expect(await claimer.giveBackStrays(completer)).toBe(0)

  await other.query('commit')
  await completer.drained(AbortSignal.timeout(60_000))
  expect(events.count('job.finished')).toBe(1)
  expect(completer.has(attempt.claimId)).toBe(false)
})

test('a queue whose tokens were counted by a clock ahead of ours grants none, and no less', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [limited])
  await using database = await openStore(db)
  await client.jobs.enqueue(limited)
  await client.sluice.queues.limit('slow', { limit: 10, per: '1s' })
  const queueId = await db.value<number>(
    `update sluice.queue set tokens = 0, tokens_at = clock_timestamp() + interval '1 hour' where name = 'slow' returning id`,
  )

  expect(await takeTokens(database.control, { queueId, wanted: 5 })).toEqual([{ granted: 0 }])
})
