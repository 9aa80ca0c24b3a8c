import { expect, test } from 'vitest'
import { defineJob, snooze } from '../../src/index.ts'
import { isRecorded } from '../../src/jobs/attempt.ts'
import { onConnection, type StoreConnection } from '../../src/store/connection.ts'
import { Claimer } from '../../src/store/jobs/claimer.ts'
import { busyQueues } from '../../src/store/jobs/claim.ts'
import { admit } from '../../src/store/jobs/enqueue.ts'
import { admitWaiting } from '../../src/store/jobs/rescue.ts'
import { lookAfter } from '../../src/store/inbox-chores.ts'
import { attemptsOf, deadAmong, findJob } from '../../src/store/jobs/views.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { jobWorker, openClient, startedWorker } from '../support/jobs.ts'
import { until } from '../support/wait.ts'
import { openStore, takenBy, workerOf } from './store-by-hand.ts'

const plain = defineJob({ name: 'plain', perform: () => undefined })

/** Does something in a transaction of its own, and gives what the server says of it before the end. */
async function counted(db: TestDatabase, count: string, work: (connection: StoreConnection) => Promise<unknown>) {
  await using client = await openClient(db.url)
  await client.query('begin')
  await work(onConnection(client, 'sluice'))
  const { rows } = await client.query<{ n: number }>(count)
  await client.query('commit')
  return rows[0]?.n ?? expect.unreachable()
}

const rowsOfJobs = `select (seq_tup_read + idx_tup_fetch)::int as n
  from pg_stat_xact_user_tables where schemaname = 'sluice' and relname = 'job'`
const looksAtJobs = `select (seq_scan + idx_scan)::int as n
  from pg_stat_xact_user_tables where schemaname = 'sluice' and relname = 'job'`
const locks = 'select count(*)::int as n from pg_locks where pid = pg_backend_pid()'

/** Keys with one job inside and one behind it. */
const withKeys = (db: TestDatabase, keys: number): Promise<object[]> =>
  db.query(
    `insert into sluice.job (run_at, queue_id, class_id, state, priority, args, key, key_hash, key_limit)
     select now(), 1, 1, state, 1, '{}', 'k' || k, hashtextextended('k' || k, 0), 1
     from generate_series(1, $1::int) k, unnest(array[4, 1]) state`,
    [keys],
  )

test('a sweep of concurrency keys looks at a thousand of them, however many there are', async () => {
  await using db = await testDatabase()
  await withKeys(db, 5_000)

  const read = await counted(db, rowsOfJobs, (connection) => admitWaiting(connection, { after: null }))

  expect(read).toBeLessThan(2_500)
})

test('sweeps of concurrency keys that follow each other leave none out', async () => {
  await using db = await testDatabase()
  await using store = await openStore(db)
  await withKeys(db, 2_500)
  await db.query(`delete from sluice.job where state = 4 and key_hash = (select max(key_hash) from sluice.job)`)
  const looks = []
  for (let after: string | null | undefined = null; after !== undefined;) {
    const { admitted, next } = await admitWaiting(store.control, { after })
    looks.push(admitted)
    after = next ?? undefined
  }

  expect(looks).toEqual([0, 0, 1])
})

test('a worker goes on with the keys that its last sweep did not reach', async () => {
  await using db = await testDatabase()
  await withKeys(db, 2_500)
  const [last] = await db.query<{ id: string }>(
    `with freed as (delete from sluice.job where state = 4 and key_hash = (select max(key_hash) from sluice.job) returning key_hash)
     select id from sluice.job where state = 1 and key_hash = (select key_hash from freed)`,
  )
  // They are in another queue than the worker's, so that the keys before the last one stay.
  expect(await db.value(`insert into sluice.queue (name) values ('held') returning id`)).toBe(1)
  await using _worker = await startedWorker(db, [plain], { queues: ['elsewhere'] })

  await until('the last key is let in', async () =>
    db.value('select state = 4 from sluice.job where id = $1', [last?.id]),
  )
})

test('a job with a key that is due is let in by the sweep that finds it, wherever that looks', async () => {
  await using db = await testDatabase()
  await using store = await openStore(db)
  await withKeys(db, 10)
  await db.query(`delete from sluice.job where state = 4`)
  await db.query(`update sluice.job set state = 3`)
  const last = await db.value<string>('select max(key_hash)::text from sluice.job')

  expect(await admitWaiting(store.control, { after: last })).toEqual({ admitted: 10, next: null })
})

test('to let in keys reads their jobs and no others, also when statistics say that there are none', async () => {
  await using db = await testDatabase()
  await withKeys(db, 3_000)
  await db.query('delete from sluice.job')
  await db.query('analyze sluice.job')
  await withKeys(db, 3_000)
  await db.query('delete from sluice.job where state = 4')
  const keys = Array.from({ length: 100 }, (_, n) => `k${2_901 + n}`)

  const rows = await counted(db, rowsOfJobs, async (connection) => expect(await admit(connection, { keys })).toBe(100))

  expect(rows).toBeLessThan(100 * 10)
})

/** Queues of which nobody uses any. */
const withQueues = (db: TestDatabase, queues: number): Promise<object[]> =>
  db.query(`insert into sluice.queue (name) select 'tenant-' || n from generate_series(1, $1::int) n`, [queues])

const idOf = (db: TestDatabase, queue: string): Promise<number> =>
  db.value('select id from sluice.queue where name = $1', [queue])

test('a claim looks into a few queues, however many there are', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await using database = await openStore(db)
  await withQueues(db, 1_000)
  const queues = ['tenant-3', 'tenant-500', 'tenant-999']
  const enqueued = await Promise.all(queues.map((queue) => client.jobs.enqueue(plain, undefined, { queue })))
  const claimer = new Claimer(database, workerOf([plain]))
  await claimer.open()
  const looked: number[] = []
  claimer.sendOn({
    schema: 'sluice',
    query(text, values) {
      looked.push((values[3] as number[]).length)
      return database.control.query(text, values)
    },
  })

  const { ids: got } = await takenBy(claimer, { limit: 10, free: 10, suspects: 1, hinted: true })

  expect(got.toSorted((a, b) => a - b)).toEqual(enqueued.map(({ id }) => id).toSorted((a, b) => a - b))
  expect(looked).toEqual([3])
})

test('queues with jobs are found by a few looks at the table, however many queues there are', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await withQueues(db, 1_000)
  for (const queue of ['tenant-3', 'tenant-999']) await client.jobs.enqueue(plain, undefined, { queue })

  const looks = await counted(db, looksAtJobs, (connection) => busyQueues(connection, { after: 0, most: 2_000 }))

  expect(looks).toBeLessThan(10)
})

test('busy is a queue with jobs that are new, next in line or due, and no other', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await using store = await openStore(db)
  const put = async (queue: string, change: string): Promise<number> => {
    const { id } = await client.jobs.enqueue(plain, undefined, { queue })
    await db.query(`update sluice.job set ${change} where id = $1`, [id])
    return idOf(db, queue)
  }
  const busy = [
    await put('new', 'state = 0'),
    await put('next', 'state = 4'),
    await put('due', `state = 2, run_at = now() - interval '1 hour'`),
  ]
  await put('later', `state = 2, run_at = now() + interval '1 hour'`)
  await put('claimed', 'state = 4, claim_id = 7')
  await put('blocked', `state = 1, key = 'k', key_hash = 1, key_limit = 1`)

  const [found] = await busyQueues(store.control, { after: 0, most: 10 })

  expect(found?.ids.toSorted((a, b) => a - b)).toEqual(busy)
  expect(found?.next_after).toBeNull()
})

test('looks for busy queues that follow each other leave none out', async () => {
  await using db = await testDatabase()
  await using store = await openStore(db)
  // Each queue has a job for later; in the last one there is one that is due, too.
  await db.query(`insert into sluice.job (run_at, queue_id, class_id, state, priority, args)
    select case n when 5 then now() - interval '1 hour' else now() + interval '1 hour' end, n, 1, 2, 1, '{}'
    from generate_series(1, 5) n`)
  const seen: (number[] | undefined)[] = []
  for (let after: number | null = 0; after !== null;) {
    const [found] = await busyQueues(store.control, { after, most: 2 })
    seen.push(found?.ids)
    after = found?.next_after ?? null
  }

  expect(seen).toEqual([[], [], [5]])
})

/** As many days as jobs that have died are kept. */
async function withDays(db: TestDatabase): Promise<void> {
  await db.query(`select sluice.create_partition(t, date_trunc('day', clock_timestamp() at time zone 'UTC')
      - d * interval '1 day', 1)
    from generate_series(1, 90) d, unnest(array['job_dead', 'job_attempt']) t`)
}

test('whoever looks at a job that has not ended locks none of the days of those that have', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await withDays(db)
  const { id } = await client.jobs.enqueue(plain)

  expect(await counted(db, locks, (connection) => findJob(connection, { id }))).toBeLessThan(40)
})

test('whoever looks at a job that has ended locks the days around its end', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await withDays(db)
  const { id } = await client.jobs.enqueue(plain)
  await client.jobs.cancel(id)
  await db.query(
    `update sluice.job_dead set finished_at = finished_at - interval '20 days', enqueued_at = enqueued_at - interval '20 days'`,
  )

  expect(await client.jobs.get(id)).toMatchObject({ id, state: 'cancelled' })
  const held = await counted(db, locks, async (connection) => {
    const job = await findJob(connection, { id })
    await attemptsOf(connection, job ?? expect.unreachable())
  })

  // Three looks of a week, of which each lets go of its locks outside of this transaction.
  expect(held).toBeLessThan(220)
})

test('whoever looks after messages locks none of the days of dead jobs while their jobs are alive', async () => {
  await using db = await testDatabase()
  await withDays(db)

  const held = await counted(db, locks, (connection) =>
    lookAfter(connection, { name: 'orders', after: { at: '-infinity', id: 0 }, ageMs: 1, limit: 10 }),
  )

  expect(held).toBeLessThan(60)
})

const daysAgo = (days: number): Date => new Date(Date.now() - days * 86_400_000)

test('the dead among some jobs are found a week of days at a time', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await withDays(db)
  const enqueued = await client.jobs.enqueueMany(plain, [undefined, undefined, undefined, undefined])
  const ids = enqueued.map(({ id }) => id)
  for (const id of ids.slice(0, 3)) await client.jobs.cancel(id)
  for (const [nth, days] of [20, 5].entries())
    await db.query(`update sluice.job_dead set finished_at = finished_at - $2 * interval '1 day' where id = $1`, [
      ids[nth],
      days,
    ])
  await using store = await openStore(db)

  expect(await deadAmong(store.control, { ids, since: daysAgo(30) })).toEqual(new Set(ids.slice(0, 3)))
  expect(await deadAmong(store.control, { ids, since: daysAgo(10) })).toEqual(new Set(ids.slice(1, 3)))
  const held = await counted(db, locks, (connection) => deadAmong(connection, { ids, since: daysAgo(6) }))
  // Of some 460: a week of days, and those made ahead.
  expect(held).toBeLessThan(120)
})

test('of ten thousand snoozes of a job some dozens are recorded', () => {
  const recorded = Array.from({ length: 10_000 }, (_, n) => n + 1).filter(isRecorded)

  expect(recorded).toHaveLength(37)
  expect(recorded.slice(0, 12)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30])
})

test('a snooze that is not recorded leaves no row, and is counted all the same', async () => {
  await using db = await testDatabase()
  let runs = 0
  const job = defineJob({
    name: 'waits',
    perform: () => {
      runs += 1
      return runs < 15 ? snooze(1) : undefined
    },
  })
  await using worker = jobWorker(db, [job])
  const { id } = await worker.jobs.enqueue(job)
  await worker.sluice.start()
  await worker.events.event('job.finished')

  expect((await worker.jobs.get(id)).attempts.map(({ verdict }) => verdict)).toEqual(Array(10).fill('snooze'))
  expect(runs).toBe(15)
})
