// Each probe against a real state of a real server, with the rights of a worker.
import { expect, test } from 'vitest'
import { activeSessions } from '../../src/governor/probes/active-sessions.ts'
import { commitTime } from '../../src/governor/probes/commit-time.ts'
import { deadRows } from '../../src/governor/probes/dead-rows.ts'
import { lockWaits } from '../../src/governor/probes/lock-waits.ts'
import { oldestSnapshot } from '../../src/governor/probes/oldest-snapshot.ts'
import { replicaBytes } from '../../src/governor/probes/replica-bytes.ts'
import { replicaLag } from '../../src/governor/probes/replica-lag.ts'
import { transactions } from '../../src/governor/probes/transactions.ts'
import { vacuum } from '../../src/governor/probes/vacuum.ts'
import { testDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { counters } from '../support/working.ts'
import { openProbe, session } from './bench.ts'

test('sessions that wait for a lock of ours are counted and named, others are not', async () => {
  await using db = await counters(10)
  await using probe = await openProbe(lockWaits, db.workerUrl)
  expect(await probe.look()).toEqual({ value: 0 })
  await using ours = await session(db.workerUrl, 'sluice work')
  await using other = await session(db.url, 'web')
  const pid = (await other.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
  await ours.query('begin; update counters set n = 1 where id = 1')
  const waiting = other.query('update counters set n = 2 where id = 1')
  await until('the other one waits for us', async () => (await probe.look())?.value === 1)
  expect(await probe.look()).toEqual({ value: 1, said: `pid ${pid}` })
  await ours.query('commit')
  await waiting
  await other.query('begin; update counters set n = 3 where id = 1')
  const oursWaits = ours.query('update counters set n = 4 where id = 1')
  const waits = `select count(*)::int from pg_stat_activity
    where datname = current_database() and application_name = 'sluice work' and wait_event_type = 'Lock'`
  await until('we wait for the other one', async () => (await db.value<number>(waits)) > 0)
  expect(await probe.look()).toEqual({ value: 0 })
  await other.query('commit')
  await oursWaits
})

test('who waits behind a lock that we wait for is counted, too', async () => {
  await using db = await counters(10)
  await using probe = await openProbe(lockWaits, db.workerUrl)
  await using holder = await session(db.url, 'report')
  await using ours = await session(db.workerUrl, 'sluice work')
  await using third = await session(db.url, 'migration')
  await holder.query('begin; lock table counters in share mode')
  const oursWaits = ours.query('update counters set n = 1 where id = 1')
  const waits = `select count(*)::int from pg_locks where not granted and relation = 'counters'::regclass`
  await until('we wait', async () => (await db.value<number>(waits)) === 1)
  const thirdWaits = third.query('begin; lock table counters in share mode')
  await until('the third waits behind us', async () => (await probe.look())?.value === 1)
  await holder.query('commit')
  await Promise.all([oursWaits, thirdWaits])
})

test('the oldest snapshot is measured and its holder named', async () => {
  await using db = await counters(10)
  await using probe = await openProbe(oldestSnapshot, db.workerUrl)
  await using report = await session(db.workerUrl, 'nightly-report')
  const pid = (await report.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
  await report.query('begin isolation level repeatable read; select 1')
  await db.query('update counters set n = n + 1')
  // An autovacuum may hold an older one, for a moment.
  const holder = `pid ${pid}, user test_worker, nightly-report, idle in transaction`
  await until('the report is the oldest', async () => (await probe.look())?.said === holder)
  // The transaction's own age is known here; where it is hidden, the time since it was first seen counts.
  const later = await probe.look({ nowMs: performance.now() + 900_000 })
  expect(later?.value).toBeGreaterThanOrEqual(890_000)
  await report.query('commit')
  expect((await probe.look())?.said ?? '').not.toContain('nightly-report')
})

test('a holder of another role is named by its pid even where the rest is hidden', async () => {
  await using db = await counters(10)
  await using probe = await openProbe(oldestSnapshot, db.workerUrl)
  await using report = await session(db.url, 'owner')
  const pid = (await report.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
  await report.query('begin isolation level repeatable read; select 1')
  await db.query('update counters set n = n + 1')
  await until('it is the oldest', async () => (await probe.look())?.said?.includes(`pid ${pid}`) === true)
})

test('dead rows are a share of the heap, and of the TOAST table when that has more', async () => {
  await using db = await testDatabase()
  await db.query(`create table notes (id int primary key, body text)
    with (autovacuum_enabled = off, toast.autovacuum_enabled = off)`)
  await db.query('alter table notes alter column body set storage external')
  await using probe = await openProbe(deadRows, db.workerUrl)
  expect(await probe.look({}, 'public.notes')).toBeUndefined()
  await using writer = await session(db.url, 'writer')
  // PostgreSQL 14 tells of what a session did when that ends another statement half a second later.
  const flush = (): Promise<unknown> => writer.query('select pg_stat_force_next_flush()').catch(() => undefined)
  await writer.query('insert into notes select n, null from generate_series(1, 20000) n')
  await writer.query('delete from notes where id <= 15000')
  await until('the heap shows', async () => {
    await flush()
    return ((await probe.look({}, 'public.notes'))?.value ?? 0) > 0.7
  })
  expect(await probe.look({}, 'public.notes')).toMatchObject({ said: 'public.notes, heap' })
  await writer.query(`update notes set body = repeat('x', 9000) where id <= 18000`)
  await writer.query('delete from notes where id > 15000 and id <= 18000')
  await until('the TOAST table shows', async () => {
    await flush()
    return (await probe.look({}, 'public.notes'))?.said === 'public.notes, TOAST'
  })
  expect((await probe.look({}, 'public.notes'))?.value).toBe(1)
})

test('a vacuum of the table shows by its lock, also to a worker', async () => {
  await using db = await counters(10)
  await using probe = await openProbe(vacuum, db.workerUrl)
  expect(await probe.look({}, 'public.counters')).toEqual({ value: 0 })
  await using cleaner = await session(db.url, 'vacuum')
  await cleaner.query('begin; lock table counters in share update exclusive mode')
  expect(await probe.look({}, 'public.counters')).toMatchObject({ value: 0.3 })
  expect(await probe.look({}, 'public.other')).toEqual({ value: 0 })
  await cleaner.query('commit')
  await using ours = await session(db.workerUrl, 'sluice work')
  await ours.query('begin; lock table counters in share update exclusive mode')
  expect(await probe.look({}, 'public.counters')).toEqual({ value: 0 })
})

test('the time that sessions of others execute is seen by a worker, and our own is taken off', async () => {
  await using db = await testDatabase()
  await using probe = await openProbe(activeSessions, db.workerUrl)
  await using busy = await session(db.url, 'web')
  expect(await probe.look()).toBeUndefined()
  const over = new AbortController()
  const work = (async () => {
    while (!over.signal.aborted) await busy.query('select pg_sleep(0.3)')
  })()
  await until('the work of the other one shows', async () => ((await probe.look())?.value ?? 0) > 0.2)
  await using ours = await session(db.workerUrl, 'sluice work')
  const oursWorks = ours.query('select pg_sleep(60)').catch(() => undefined)
  await until('what we do ourselves is taken off', async () => (await probe.look())?.value === 0)
  await db.query(
    `select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'sluice work' and datname = current_database()`,
  )
  await oursWorks
  over.abort()
  await work
})

test('transactions of others are counted, and our own are not', async () => {
  await using db = await testDatabase()
  await using probe = await openProbe(transactions, db.workerUrl)
  await using other = await session(db.url, 'web')
  let [nowMs, own] = [1_000, 0]
  expect(await probe.look({ nowMs })).toBeUndefined()
  await until('the transactions of the other one show', async () => {
    for (let i = 0; i < 200; i++) await other.query('select 1')
    return ((await probe.look({ nowMs: (nowMs += 1_000) }))?.value ?? 0) > 100
  })
  await until('what we do ourselves is taken off', async () => {
    own += 1_000_000
    return (await probe.look({ nowMs: (nowMs += 1_000), transactions: own }))?.value === 0
  })
})

test('transactions of others are told per core, without those of other workers, also after a time without looks', async () => {
  await using db = await testDatabase()
  await using probe = await openProbe(transactions, db.workerUrl)
  let seen = 0
  const query = async (): Promise<never[]> => [{ all: seen }] as never[]
  const look = (nowMs: number, peers = 0): Promise<number | undefined> =>
    probe.look({ nowMs, peers, cores: 4, query }).then((measure) => measure?.value)
  expect(await look(1_000)).toBeUndefined()
  seen = 60_000
  expect(await look(61_000)).toBe(250)
  seen = 60_400
  expect(await look(62_000)).toBe(100)
  seen = 60_800
  expect(await look(63_000, 400)).toBe(0)
})

test('a commit that takes much longer than usual shows', async () => {
  await using db = await testDatabase()
  await using probe = await openProbe(commitTime, db.workerUrl)
  for (let i = 0; i < 20; i++) await probe.look()
  await using slow = await session(db.workerUrl, 'sluice health')
  const commit = async (): Promise<void> => void (await slow.query('select pg_sleep(1.5)'))
  expect((await probe.look({ commit }))?.value).toBeGreaterThan(1)
})

test('replicas are hidden from a worker without the right to see them, and the remedy is told', async () => {
  await using db = await testDatabase()
  await using lag = await openProbe(replicaLag, db.workerUrl)
  await using bytes = await openProbe(replicaBytes, db.workerUrl)
  const blind = { reason: expect.stringContaining('hidden'), remedy: 'grant pg_read_all_stats to test_worker;' }
  expect(await lag.blindness()).toEqual(blind)
  expect(await bytes.blindness()).toEqual(blind)
  await using seeing = await openProbe(replicaLag, db.url)
  expect(await seeing.blindness()).toBeUndefined()
  expect(await seeing.look()).toBeUndefined()
})
