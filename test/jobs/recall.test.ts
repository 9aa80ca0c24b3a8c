import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { completedBy } from '../../src/store/jobs/settle.ts'
import { onClient, testDatabase, type TestDatabase } from '../support/database.ts'
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy/index.ts'
import { drained, jobWorker, openClient, startedWorker } from '../support/jobs.ts'
import { patient } from './store-by-hand.ts'

const plain = defineJob({ name: 'plain', perform: () => undefined })
/** What asks history which endings had been written before an answer was lost. */
const recall = /from sluice\.(completed_jobs|job_history)/

async function proxyTo(db: TestDatabase): Promise<FaultProxy> {
  const { hostname, port } = new URL(db.url)
  return startFaultProxy({ host: hostname, port: Number(port) })
}

/** Seven days of history, with 1,000 jobs in each and as many in the last hour but one. */
async function withHistory(db: TestDatabase): Promise<void> {
  // An hour before the same time of the first day may be on the day before.
  for (let day = 8; day >= 1; day--) {
    await db.query(
      `select sluice.create_partition('job_history', date_trunc('day', clock_timestamp() at time zone 'UTC')
         - $1 * interval '1 day', 1)`,
      [day],
    )
  }
  await db.query(`insert into sluice.job_history (id, claim_id, enqueued_at, finished_at, class_id, queue_id, wait_ms,
      run_ms, attempt)
    select day * 1000 + n, day * 1000 + n, t, t, 1, 1, 5, 5, 1
    from generate_series(0, 7) day, generate_series(1, 1000) n,
      lateral (select clock_timestamp() - day * interval '1 day' - interval '1 hour' as t) at`)
}

/** How many rows of history a statement reads, from whichever partition and in whichever way. */
async function rowsReadBy(
  db: TestDatabase,
  work: (client: Awaited<ReturnType<typeof openClient>>) => Promise<unknown>,
) {
  await using client = await openClient(db.workerUrl)
  await client.query('begin')
  await work(client)
  const { rows } = await client.query<{ read: number }>(
    `select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int as read
     from pg_stat_xact_user_tables where schemaname = 'sluice' and relname like 'job\\_history%'`,
  )
  await client.query('rollback')
  return rows[0]?.read
}

test('whoever asks what became of an ending reads the minutes since it was first written, not all of history', async () => {
  await using db = await testDatabase()
  await withHistory(db)
  const claims = Array.from({ length: 100 }, (_, n) => ({ id: 10_000 + n, claimId: '7' }))
  const fromMs = Date.now() - 60_000

  const read = await rowsReadBy(db, (client) => completedBy(onClient(client), { claims, fromMs }))

  expect(read).toBe(0)
})

test('an ending that was not written is written again, and nobody asks history about it', async () => {
  await using db = await testDatabase()
  await using proxy = await proxyTo(db)
  await using worker = jobWorker(db, [plain], { url: proxy.url(db.workerUrl) }, patient)
  const { id } = await worker.jobs.enqueue(plain)
  using refused = proxy.answer('57P01', { to: /sluice\.complete_jobs/, times: 1 })
  using asked = proxy.answer('57014', { to: recall })
  await worker.sluice.start()

  expect(await worker.events.event('job.finished')).toMatchObject({ jobId: id })

  expect({ refused: refused.hits, asked: asked.hits }).toEqual({ refused: 1, asked: 0 })
})

test('endings are written while history does not say what became of others', async () => {
  await using db = await testDatabase()
  await using proxy = await proxyTo(db)
  await using worker = await startedWorker(db, [plain], { url: proxy.url(db.workerUrl) }, patient)
  using asked = proxy.answer('57014', { to: recall })
  const lost = proxy.dropAnswerTo(/sluice\.complete_jobs/, { times: 1, ending: 'rst' })
  const first = await worker.jobs.enqueue(plain)
  await asked.next()

  const second = await worker.jobs.enqueue(plain)
  await drained(db)
  expect(await worker.events.event('job.finished')).toMatchObject({ jobId: second.id })

  asked.lift()
  expect(await worker.events.event('job.finished', { nth: 2 })).toMatchObject({ jobId: first.id })
  expect(lost.hits).toBe(1)
  expect(worker.events.count('job.lost')).toBe(0)
})
