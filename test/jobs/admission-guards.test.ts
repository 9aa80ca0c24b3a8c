import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { admit } from '../../src/store/jobs/enqueue.ts'
import { admitWaiting } from '../../src/store/jobs/rescue.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { jobWorker, openClient } from '../support/jobs.ts'
import { openStore, patient } from './store-by-hand.ts'
import { overOrWaiting } from '../support/locks.ts'

const keyed = defineJob({ name: 'keyed', concurrency: { limit: 1, key: () => 'k' }, perform: () => undefined })

/** The states of all jobs in the order of their enqueueing: 1 is blocked, 3 scheduled, 4 let in. */
const states = (db: TestDatabase): Promise<number[]> =>
  db.value('select array_agg(state::int order by id) from sluice.job')

/** Keyed jobs that nobody has let in yet: what a transaction of a caller records. */
async function withBlocked(db: TestDatabase, count: number): Promise<void> {
  await using client = jobWorker(db, [keyed])
  await using tx = await openClient(db.workerUrl)
  await tx.query('begin')
  for (let n = 0; n < count; n++) await client.jobs.enqueue(keyed, undefined, { tx })
  await tx.query('commit')
  expect(await states(db)).toEqual(Array.from({ length: count }, () => 1))
}

test('those that were let in under a key count against its limit', async () => {
  await using db = await testDatabase()
  await using store = await openStore(db)
  await withBlocked(db, 3)
  expect(await admit(store.control, { keys: ['k'] })).toBe(1)

  expect(await admit(store.control, { keys: ['k'] })).toBe(0)

  expect(await states(db)).toEqual([4, 1, 1])
})

test('two that let jobs in under the same key at once do not exceed its limit', async () => {
  await using db = await testDatabase()
  await using store = await openStore(db)
  await withBlocked(db, 3)
  await using other = await openClient(db.url)
  await other.query('begin')
  // Whoever does not wait for the lock of the key counts now, waits here, and then lets in the next one.
  await other.query('lock table sluice.job in share mode')
  await other.query(`select sluice.admit_jobs(array[hashtextextended('k', 0)])`)

  const admitted = admit(store.control, { keys: ['k'] })
  await overOrWaiting(db, admitted)
  await other.query('commit')

  expect(await admitted).toBe(0)
  expect(await states(db)).toEqual([4, 1, 1])
})

test('two that let jobs in under the same key do not exceed its limit, also where its lock has a row already', async () => {
  await using db = await testDatabase()
  await using store = await openStore(db)
  await admit(store.control, { keys: ['k'] })
  await withBlocked(db, 3)
  await using other = await openClient(db.url)
  await other.query('begin')
  await other.query('lock table sluice.job in share mode')
  await other.query(`select sluice.admit_jobs(array[hashtextextended('k', 0)])`)

  const admitted = admit(store.control, { keys: ['k'] })
  await overOrWaiting(db, admitted)
  await other.query('commit')

  expect(await admitted).toBe(0)
})

test('whoever waits for the lock of one key holds none that comes later', async () => {
  await using db = await testDatabase()
  // By their hashes, the places of these keys are 7 and 5.
  const [seven, five] = [7, 65_536 + 5]
  await db.query('select sluice.admit_jobs($1::bigint[])', [[seven, five]])
  await using first = await openClient(db.workerUrl)
  await first.query('begin')
  await first.query('select sluice.admit_jobs($1::bigint[])', [[five]])
  await using second = await openClient(db.workerUrl)

  const both = second.query('select sluice.admit_jobs($1::bigint[])', [[seven, five]])

  expect(await overOrWaiting(db, both)).toBe('waiting')
  expect(await db.query('select place from sluice.job_key_turn where place = 7 for update nowait')).toHaveLength(1)
  await first.query('commit')
  await both
})

test('a keyed job ends and lets the next one in by the same commit', async () => {
  await using db = await testDatabase()
  await using worker = jobWorker(db, [keyed], {}, patient)
  const first = await worker.jobs.enqueue(keyed)
  await worker.jobs.enqueue(keyed)
  await db.query('create table admission (xid text)')
  await db.query(`create function note() returns trigger language plpgsql security definer as
    $$ begin insert into public.admission values (pg_current_xact_id()::text); return null; end $$`)
  await db.query(`create trigger note after update on sluice.job for each row
    when (old.state = 1 and new.state = 4) execute function note()`)

  await worker.sluice.start()
  await worker.events.event('job.finished', { nth: 2 })

  const ends = 'select xmin::text as xid from sluice.job_history where id = $1'
  expect(await db.query('select xid from admission')).toEqual(await db.query(ends, [first.id]))
})

test('a sweep lets in what has room and nobody let in, and what is scheduled only when it is due', async () => {
  await using db = await testDatabase()
  await using store = await openStore(db)
  await withBlocked(db, 3)
  await db.query(`update sluice.job set key_hash = id, state = case id when (select min(id) from sluice.job) then 1 else 3 end,
    run_at = case id when (select max(id) from sluice.job) then now() + interval '1 hour' else run_at end`)
  expect(await states(db)).toEqual([1, 3, 3])

  expect(await admitWaiting(store.control, { after: null })).toEqual({ admitted: 2, next: null })

  expect(await states(db)).toEqual([4, 4, 3])
})
