import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import {
  clean,
  drained,
  jobWorker,
  leftovers,
  liveJobs,
  openClient,
  startedWorker,
  withLedger,
} from '../support/jobs.ts'
import { isWaiting } from '../support/locks.ts'
import { until } from '../support/wait.ts'

const numbered = z.object({ n: z.number() })
const many = (length: number): { n: number }[] => Array.from({ length }, (_, n) => ({ n }))

test('running jobs may end, fetched ones go back, and nothing stays claimed', async () => {
  await using db = await testDatabase()
  const short = defineJob({ name: 'short', args: numbered, perform: () => sleep(300) })
  await using worker = jobWorker(db, [short], { concurrency: 3 })
  await worker.jobs.enqueueMany(short, many(50))
  await worker.sluice.start()
  await worker.events.event('job.started', { nth: 3 })
  await worker.sluice.stop()
  expect(worker.events.count('job.finished')).toBe(worker.events.count('job.started'))
  expect(worker.events.count('job.released')).toBeGreaterThan(10)
  expect(await leftovers(db)).toEqual(clean)
  expect(await liveJobs(db)).toBe(50 - worker.events.count('job.finished'))
  // Released is no attempt, no failure, no crash.
  expect(await db.value('select count(*)::int from sluice.job where attempt > 0 or crashes > 0')).toBe(0)
  expect(await db.value('select count(*)::int from sluice.job_attempt')).toBe(0)
})

test('a worker that is stopped while it claims does not wait for its next look', async () => {
  await using db = await testDatabase()
  const noop = defineJob({ name: 'noop', perform: () => undefined })
  // Its stop would be as patient with a job.
  const worker = await startedWorker(db, [noop], { poll: '1 hour' }, { worker: { stop: '1 hour' } })
  const hinted = `select sluice.enqueue('{"job": "noop"}', notify => true)`
  const listens = `select exists (select from pg_stat_activity where datname = current_database()
    and application_name = 'sluice listen' and state = 'idle')`
  await until('it listens', () => db.value(listens))
  await db.query(hinted)
  await drained(db)
  // A hint of before would have it look once more, whether it is stopped or not.
  const looked = `select exists (select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
    and query ilike '%claim_jobs%' and (state = 'active' or state_change > clock_timestamp() - interval '300 ms'))`
  await until('it sleeps', async () => !(await db.value<boolean>(looked)))
  await using holder = await openClient(db.url)
  await holder.query('begin')
  await holder.query('select from sluice.claim_turn for update')
  await db.query(hinted)
  await until('its claim waits', () => isWaiting(db, '%claim_jobs%'))
  const stopped = worker.sluice.stop()
  await holder.query('commit')
  await stopped
  expect(await leftovers(db)).toEqual(clean)
})

test('a worker that has no work of users opens no connection for it', async () => {
  await using db = await testDatabase()
  await db.query(`insert into sluice.worker (id, host, pid, version, operations, jobs, queues, concurrency, seen_at)
    values (gen_random_uuid(), 'gone', 1, '0', '{}', '{}', '{}', 1, now() - interval '1 day')`)
  await using _ = await startedWorker(db, [defineJob({ name: 'noop', perform: () => undefined })])
  // What it does last, the first time that it looks after everything.
  await until(
    'the one that is gone is forgotten',
    async () => (await db.value('select count(*)::int from sluice.worker')) === 1,
  )
  const opened = `select count(*)::int from pg_stat_activity
    where datname = current_database() and application_name = 'sluice work'`
  expect(await db.value(opened)).toBe(0)
})

test('a handler that does not end is told by its signal, and one that hangs is left behind', async () => {
  await using db = await withLedger(await testDatabase())
  const reasons: string[] = []
  const listening = defineJob({
    name: 'listening',
    perform: ({ signal }) =>
      new Promise<void>((_, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push((signal.reason as Error).name)
          reject(new Error('stopped half way'))
        })
      }),
  })
  const deaf = defineJob({ name: 'deaf', perform: () => new Promise<void>(() => undefined) })
  const deafInside = defineJob({
    name: 'deaf-inside',
    transaction: true,
    async perform({ tx }) {
      await tx.query(`insert into ledger (note) values ('never')`, [])
      await new Promise<void>(() => undefined)
    },
  })
  const jobs = [listening, deaf, deafInside]
  await using worker = await startedWorker(
    db,
    jobs,
    {},
    { worker: { stop: '300ms' }, timeouts: { idleInTransaction: '1m' } },
  )
  for (const job of jobs) await worker.jobs.enqueue(job)
  await worker.events.event('job.started', { nth: 3 })
  await worker.sluice.stop()
  expect(reasons).toEqual(['WorkerStopping'])
  expect(worker.events.count('job.released')).toBe(3)
  expect(await leftovers(db)).toEqual(clean)
  expect(await db.value('select count(*)::int from ledger')).toBe(0)
  expect(await db.query('select attempt, crashes from sluice.job')).toEqual(
    jobs.map(() => ({ attempt: 0, crashes: 0 })),
  )
})

test('a released job runs again at once in another worker, with its key and its place', async () => {
  await using db = await testDatabase()
  const order: number[] = []
  let hang = true
  const keyed = defineJob({
    name: 'keyed',
    args: numbered,
    concurrency: { limit: 1, key: () => 'k' },
    async perform({ args, signal }) {
      if (hang) await sleep(60_000, undefined, { signal })
      order.push(args.n)
    },
  })
  const first = await startedWorker(db, [keyed], {}, { worker: { stop: '100ms' } })
  await first.jobs.enqueueMany(keyed, many(3))
  await first.events.event('job.started')
  await first.sluice.stop()
  expect(await leftovers(db)).toEqual(clean)
  hang = false
  await using second = await startedWorker(db, [keyed])
  await second.events.event('job.finished', { nth: 3 })
  expect(order).toEqual([0, 1, 2])
  expect(second.events.all.filter(({ event }) => event === 'job.started')[0]?.payload).toMatchObject({ attempt: 1 })
})

test('stopping twice, or without having started, is harmless', async () => {
  await using db = await testDatabase()
  const worker = await startedWorker(db, [])
  await Promise.all([worker.sluice.stop(), worker.sluice.stop()])
  await worker.sluice.stop()
  await jobWorker(db, []).sluice.stop()
  expect(await leftovers(db)).toEqual(clean)
})
