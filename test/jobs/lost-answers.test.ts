import { expect, test, vi } from 'vitest'
import { defineJob, type JobDefinition } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy/index.ts'
import { jobWorker, openClient, startedWorker, withLedger } from '../support/jobs.ts'
import { isWaiting } from '../support/locks.ts'
import { until } from '../support/wait.ts'
import { openStore, patient, takerOf } from './store-by-hand.ts'

const plain = defineJob({ name: 'plain', perform: () => undefined })
const work = {
  which: ({ applicationName }: { applicationName: string | undefined }) => applicationName === 'sluice work',
}

async function proxyTo(db: TestDatabase): Promise<FaultProxy> {
  const { hostname, port } = new URL(db.url)
  return startFaultProxy({ host: hostname, port: Number(port) })
}

test('a worker that loses the answer to a claim gives the jobs back before it claims again', async () => {
  await using db = await testDatabase()
  await using proxy = await proxyTo(db)
  await using client = jobWorker(db, [plain])
  const { id } = await client.jobs.enqueue(plain)
  await using database = await openStore(db, proxy.url(db.workerUrl))
  const take = await takerOf(database, [plain])
  const lost = proxy.dropAnswerTo(/sluice\.claim_jobs/, { times: 1, ending: 'rst' })

  await expect(take()).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' })

  expect(lost.hits).toBe(1)
  expect(await take()).toEqual([id])
  expect(await db.query('select attempt, crashes from sluice.job')).toEqual([{ attempt: 1, crashes: 0 }])
})

test('a worker gives back what the server claims for it after the connection has broken', async () => {
  await using db = await testDatabase()
  await using proxy = await proxyTo(db)
  await using client = jobWorker(db, [plain])
  const { id } = await client.jobs.enqueue(plain)
  await using database = await openStore(db, proxy.url(db.workerUrl))
  const take = await takerOf(database, [plain])
  await using other = await openClient(db.workerUrl)
  await other.query('begin')
  await other.query('select sluice.lock_claims()')
  const first = take().catch(() => 'lost')
  await until('the claim waits', async () => isWaiting(db, '%sluice.claim_jobs%'))
  proxy.cut('rst')
  expect(await first).toBe('lost')
  // The server is at it still: nothing can be given back yet. Whoever wants no new jobs needs no lock.
  expect(await take(0)).toEqual([])
  await other.query('commit')
  await until('the server has claimed', async () => db.value('select count(*) = 1 from sluice.job_claim'))

  // A worker asks once a second.
  const now = performance.now.bind(performance)
  using _later = vi.spyOn(performance, 'now').mockImplementation(() => now() + 2_000)

  expect(await take()).toEqual([id])
})

test('a worker that loses the answer to an ending finds it in history, and has lost nothing', async () => {
  await using db = await testDatabase()
  await using proxy = await proxyTo(db)
  await using worker = jobWorker(db, [plain], { url: proxy.url(db.workerUrl) }, patient)
  const { id } = await worker.jobs.enqueue(plain)
  const lost = proxy.dropAnswerTo(/sluice\.complete_jobs/, { times: 1, ending: 'rst' })
  await worker.sluice.start()

  await until('the end is told', () => worker.events.count('job.finished') + worker.events.count('job.lost') > 0)

  expect(lost.hits).toBe(1)
  expect(worker.events.payloads('job.finished')).toMatchObject([{ jobId: id, attempt: 1 }])
  expect(worker.events.count('job.lost')).toBe(0)
})

/** A job that writes into the ledger in its own transaction, and how often it ran. */
function noting(): { job: JobDefinition<undefined>; runs: () => number } {
  let runs = 0
  const job = defineJob({
    name: 'noting',
    transaction: true,
    async perform({ tx }) {
      runs += 1
      await tx.query(`insert into ledger (note) values ('done')`, [])
    },
  })
  return { job, runs: () => runs }
}

const ledger = (db: TestDatabase): Promise<number> => db.value('select count(*)::int from ledger')

test('a transactional job whose COMMIT took effect unheard has succeeded', async () => {
  await using db = await withLedger(await testDatabase())
  await using proxy = await proxyTo(db)
  const { job, runs } = noting()
  await using worker = await startedWorker(db, [job], { url: proxy.url(db.workerUrl) }, patient)
  // Sweeps commit there, too, so it is each of them.
  using lost = proxy.dropAnswerTo(/^commit$/i, { ending: 'rst', ...work })
  const { id } = await worker.jobs.enqueue(job)

  await until('the end is told', () => worker.events.count('job.finished') + worker.events.count('job.lost') > 0)

  expect(lost.hits).toBeGreaterThan(0)
  expect(worker.events.payloads('job.finished')).toMatchObject([{ jobId: id, attempt: 1 }])
  expect({ runs: runs(), ledger: await ledger(db) }).toEqual({ runs: 1, ledger: 1 })
})

/** Has each COMMIT of a row of the ledger do something first. */
async function beforeCommit(db: TestDatabase, act: string): Promise<void> {
  await db.query(`create function act() returns trigger language plpgsql security definer as
    $$ begin ${act}; return null; end $$`)
  await db.query(`create constraint trigger act after insert on ledger deferrable initially deferred
    for each row execute function act()`)
}

test('a transactional job whose COMMIT took no effect runs again', async () => {
  await using db = await withLedger(await testDatabase())
  await db.query('create sequence commits')
  await beforeCommit(db, `if nextval('public.commits') = 1 then perform pg_terminate_backend(pg_backend_pid()); end if`)
  const { job, runs } = noting()
  await using worker = await startedWorker(db, [job], {}, patient)
  await worker.jobs.enqueue(job)

  await worker.events.event('job.finished')

  expect({ runs: runs(), ledger: await ledger(db) }).toEqual({ runs: 2, ledger: 1 })
})

test('a worker waits for the end of a COMMIT that the server is still at', async () => {
  await using db = await withLedger(await testDatabase())
  await beforeCommit(db, 'perform pg_advisory_xact_lock_shared(42)')
  await using proxy = await proxyTo(db)
  const { job, runs } = noting()
  await using other = await openClient(db.url)
  await other.query('begin')
  await other.query('select pg_advisory_xact_lock(42)')
  await using worker = await startedWorker(db, [job], { url: proxy.url(db.workerUrl) }, patient)
  const { id } = await worker.jobs.enqueue(job)
  await until('the COMMIT waits', async () => isWaiting(db, 'commit'))
  expect(proxy.cut('rst', work)).toBeGreaterThan(0)
  await until('the worker waits for the job', async () => isWaiting(db, '%sluice.job j%'))
  await other.query('commit')

  await until('the end is told', () => worker.events.count('job.finished') + worker.events.count('job.lost') > 0)

  expect(worker.events.payloads('job.finished')).toMatchObject([{ jobId: id, attempt: 1 }])
  expect({ runs: runs(), ledger: await ledger(db) }).toEqual({ runs: 1, ledger: 1 })
})
