import type pg from 'pg'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineInbox, defineJob, planned } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { drained, jobWorker, openClient, startedWorker, type JobWorker } from '../support/jobs.ts'
import { until } from '../support/wait.ts'

const numbered = z.object({ n: z.number() })
const noop = defineJob({ name: 'noop', args: numbered, perform: () => undefined })
/** So rare that a test would fail by its time limit if it were for the polls alone. */
const rarely = { poll: '10m' } as const

const ears = (db: TestDatabase): Promise<number> =>
  db.value(`select count(*)::int from pg_stat_activity
    where datname = current_database() and application_name = 'sluice listen' and state = 'idle'`)

async function listening(db: TestDatabase): Promise<JobWorker> {
  const worker = await startedWorker(db, [noop], rarely)
  await until('the worker listens', async () => (await ears(db)) === 1)
  return worker
}

test('a worker hears of jobs that other processes enqueue', async () => {
  await using db = await testDatabase()
  await using worker = await listening(db)
  await using other = jobWorker(db, [])
  await other.jobs.enqueue(noop, { n: 1 })
  await worker.events.event('job.finished')
  await other.jobs.enqueueMany(noop, [{ n: 2 }, { n: 3 }])
  await worker.events.event('job.finished', { nth: 3 })
  await db.query(`select sluice.enqueue('{"job": "noop", "args": {"n": 4}}', notify => true)`)
  await worker.events.event('job.finished', { nth: 4 })
})

test('a person who lets a job run, retries it or makes room for it is heard, too', async () => {
  await using db = await testDatabase()
  await using worker = await listening(db)
  await using other = jobWorker(db, [])
  const { id } = await other.jobs.enqueue(noop, { n: 1 }, { in: '1d' })
  await other.jobs.run(id)
  await worker.events.event('job.finished')
  const next = await other.jobs.enqueue(noop, { n: 2 }, { in: '1d' })
  await other.jobs.discard(next.id)
  await other.jobs.retry(next.id)
  expect(await worker.events.event('job.finished', { nth: 2 })).toMatchObject({ jobId: next.id })
})

test('hints are few when enqueueing comes in a rush, and the last of them is never left out', async () => {
  await using db = await testDatabase()
  await using ear = await openClient(db.url)
  let hints = 0
  ear.on('notification', () => void (hints += 1))
  await ear.query('listen sluice_jobs')
  await using worker = await listening(db)
  await using other = jobWorker(db, [])
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 25 }, (_, n) => other.jobs.enqueue(noop, { n })))
  }
  await worker.events.event('job.finished', { nth: 500 })
  expect(hints).toBeGreaterThan(0)
  expect(hints).toBeLessThan(100)
})

/** The server processes whose transactions have notified workers, up to a mark. */
async function notifiers(db: TestDatabase): Promise<{ upToNow: () => Promise<number[]> } & AsyncDisposable> {
  const ear = await openClient(db.url)
  const heard: { channel: string; processId: number }[] = []
  ear.on('notification', (message) => void heard.push(message))
  await ear.query('listen sluice_jobs; listen mark')
  const upToNow = async (): Promise<number[]> => {
    await db.query('notify mark')
    await until('the mark is heard', () => heard.some(({ channel }) => channel === 'mark'))
    return heard.filter(({ channel }) => channel === 'sluice_jobs').map(({ processId }) => processId)
  }
  return { upToNow, [Symbol.asyncDispose]: () => ear[Symbol.asyncDispose]() }
}

const pidOf = async (client: pg.Client): Promise<number | undefined> =>
  (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid

test('a transaction that enqueues carries no notification unless it asks for one', async () => {
  await using db = await testDatabase()
  await using ear = await notifiers(db)
  await using other = jobWorker(db, [])
  const inbox = defineInbox({ name: 'hooks', payload: numbered, key: ({ n }) => [String(n)], perform: () => undefined })
  await using tx = await openClient(db.url)
  await tx.query('begin')
  await other.jobs.enqueue(noop, { n: 1 }, { tx })
  await other.jobs.enqueueMany(noop, [{ n: 2 }, { n: 3 }], { tx })
  await other.sluice.inboxes.receive(inbox, { n: 4 }, { tx })
  await other.sluice.batches.run([planned(noop, { n: 5 })], { tx })
  await tx.query(`select sluice.enqueue('{"job": "noop", "args": {"n": 6}}')`)
  await tx.query('commit')
  expect(await ear.upToNow()).not.toContain(await pidOf(tx))

  await using asking = await openClient(db.url)
  await using late = await notifiers(db)
  await asking.query('begin')
  await other.jobs.enqueue(noop, { n: 8 }, { tx: asking, notify: true })
  await asking.query('rollback')
  expect(await late.upToNow()).not.toContain(await pidOf(asking))
  await using last = await notifiers(db)
  await asking.query('begin')
  await other.jobs.enqueueMany(noop, [{ n: 9 }], { tx: asking, notify: true })
  await asking.query('commit')
  expect(await last.upToNow()).toContain(await pidOf(asking))
})

test('a worker hears of jobs that were enqueued in a transaction of another process', async () => {
  await using db = await testDatabase()
  await using worker = await listening(db)
  await using other = jobWorker(db, [])
  await using tx = await openClient(db.url)
  await tx.query('begin')
  await other.jobs.enqueue(noop, { n: 1 }, { tx })
  await tx.query('commit')
  await worker.events.event('job.finished')
})

test('a listener whose connection is cut comes back, and nothing is lost meanwhile', async () => {
  await using db = await testDatabase()
  await using worker = await listening(db)
  await db.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'sluice listen'`)
  await db.query(`select sluice.enqueue('{"job": "noop", "args": {"n": 1}}', notify => true)`)
  await worker.events.event('connection.lost')
  // What came while nobody listened is looked for as soon as it listens again.
  await worker.events.event('job.finished')
  await until('it listens again', async () => (await ears(db)) === 1)
  await db.query(`select sluice.enqueue('{"job": "noop", "args": {"n": 2}}', notify => true)`)
  await worker.events.event('job.finished', { nth: 2 })
})

test('without any hint, looking now and then finds every job', async () => {
  await using db = await testDatabase()
  await using worker = await startedWorker(db, [noop])
  for (let n = 0; n < 5; n++) {
    await db.query(`select sluice.enqueue($1)`, [JSON.stringify({ job: 'noop', args: { n } })])
  }
  await worker.events.event('job.finished', { nth: 5 })
})

test('behind a transaction pooler jobs run by looking alone', async () => {
  await using db = await testDatabase()
  const upstream = new URL(db.url)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  using _pooling = proxy.pooling('transaction', { backends: 4 })
  await using worker = await startedWorker(db, [noop], { url: proxy.url(db.workerUrl) })
  await worker.jobs.enqueueMany(
    noop,
    Array.from({ length: 50 }, (_, n) => ({ n })),
  )
  await drained(db)
  await worker.events.event('job.finished', { nth: 50 })
  expect(await ears(db)).toBe(0)
})
