// What the database or the role says of isolation, dates, floats and limits, beside what every promise needs.
import { expect, test } from 'vitest'
import { backfill, defineJob, defineMachine, defineSchedule, Sluice, sql } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { drained, jobProfile, openClient } from '../support/jobs.ts'
import { oddSettings, setOddly } from '../support/odd-settings.ts'
import { until } from '../support/wait.ts'

/** Keys whose text depends on the session, and of which none is told apart by few digits. */
async function readings(): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(`
    create schema odd;
    grant usage on schema odd to test_worker;
    create table odd.readings (at float8, day date, span interval, n int not null default 0, m int not null default 0,
      primary key (at, day, span));
    insert into odd.readings
      select 0.1 + i * 1e-15, date '2026-01-31' + i % 7, i * interval '1 day -3 hours' from generate_series(1, 300) i;
    create table odd.orders (id bigint primary key, state text not null default 'new',
      state_changed_at timestamptz not null default now());
    insert into odd.orders (id) values (1);
    grant all on all tables in schema odd to test_worker`)
  return db
}

const count = backfill({
  name: 'count',
  table: 'odd.readings',
  set: { n: sql`n + 1` },
  where: sql`n < 9`,
  verify: false,
})
const countAgain = backfill({
  name: 'count-again',
  table: 'odd.readings',
  set: { m: sql`m + 1` },
  where: sql`m < 9`,
  verify: false,
})

/** The job of each run. */
const ran: number[] = []
const run = ({ job }: { job: { id: number } }): void => void ran.push(job.id)
const plain = defineJob({ name: 'plain', perform: run })
const keyed = defineJob({ name: 'keyed', concurrency: { limit: 1, key: () => 'k' }, perform: run })
const single = defineJob({ name: 'single', unique: { until: 'success' }, perform: run })
const ticking = defineJob({ name: 'ticking', perform: () => undefined })
const eachSecond = defineSchedule({ name: 'each-second', cron: '* * * * * *', job: ticking, overlap: 'allow' })
const orders = defineMachine({
  name: 'orders',
  table: 'odd.orders',
  states: { new: { to: 'sent', transaction: true, perform: async () => undefined }, sent: {} },
})

/** Three workers and a process that enqueues, on everything at once; then all promises, by SQL. */
async function keepsItsPromises(db: TestDatabase, url: string): Promise<void> {
  const worker = (): Sluice =>
    new Sluice({
      ...jobProfile({ poll: '50ms' }),
      database: url,
      operations: [count, countAgain],
      jobs: [plain, keyed, single],
      schedules: [eachSecond],
      machines: [orders],
    })
  ran.length = 0
  await using sluice = worker()
  await using second = worker()
  await using third = worker()
  for (const each of [sluice, second, third]) await each.start()
  const { operations, jobs, batches, machines, schedules } = sluice

  await machines.start(orders, 1)
  const batch = await batches.open()
  await batch.addMany(plain, [undefined, undefined])
  await batch.seal()
  const first = await operations.start(count)
  for (let n = 0; n < 15; n++) {
    await jobs.enqueueMany(
      plain,
      Array.from({ length: 20 }, () => undefined),
    )
    await jobs.enqueue(keyed)
    await jobs.enqueue(single)
  }
  await using caller = await openClient(url)
  // In a transaction of the caller's the caller's limits hold.
  await caller.query('set statement_timeout = 0')
  await caller.query('begin')
  const { id } = await operations.start(countAgain, undefined, { tx: caller })
  await jobs.enqueue(plain, undefined, { tx: caller })
  await caller.query('commit')
  for (const each of [first.id, id]) expect(await operations.wait(each)).toMatchObject({ state: 'finished' })
  await until('some ticks were settled', async () => (await ticks(db)) > 1)
  const schedule = await schedules.get('each-second')
  expect(schedule.lastTick?.tick.getTime()).toBeGreaterThan(Date.now() - 600_000)
  expect(schedule.nextAt?.getTime()).toBeGreaterThan(Date.now() - 600_000)
  await schedules.disable('each-second')
  await drained(db)

  const [rows] = await db.query(`select count(*)::int as readings, sum(n)::int as n, sum(m)::int as m, max(n) as most
    from odd.readings`)
  expect(rows).toEqual({ readings: 300, n: 300, m: 300, most: 1 })
  const history = `select count(*)::int from sluice.job_history h join sluice.job_class c on c.id = h.class_id`
  const ended = await db.value<number>(`${history} where c.name in ('plain', 'keyed', 'single')`)
  expect([ran.length, new Set(ran).size]).toEqual([ended, ended])
  expect(await db.value(`${history} where c.name = 'plain'`)).toBe(15 * 20 + 2 + 1)
  expect(await db.value(`${history} where c.name = 'keyed'`)).toBe(15)
  expect(await db.value(`${history} where c.name = 'ticking'`)).toBe(await ticks(db))
  expect(await batches.get(batch.id)).toMatchObject({ state: 'succeeded', total: 2 })
  expect(await db.value('select state from odd.orders')).toBe('sent')
  expect((await operations.get(first.id)).startedAt?.getTime()).toBeGreaterThan(Date.now() - 600_000)
  const findings = await sluice.doctor()
  expect(findings.find(({ check }) => check === 'clock')).toMatchObject({ level: 'ok' })
  expect(findings.find(({ check }) => check === 'isolation')).toMatchObject({ level: 'warning' })
}

const ticks = (db: TestDatabase): Promise<number> =>
  db.value(`select count(*)::int from sluice.schedule_tick where outcome = 'started'`)

test('settings of the database change no promise', async () => {
  await using db = await readings()
  await setOddly(db, 'database')
  await keepsItsPromises(db, db.workerUrl)
})

test('nor do settings of the role, at the strictest isolation', async () => {
  await using db = await readings()
  const settings = { ...oddSettings, default_transaction_isolation: `'serializable'`, datestyle: `'German'` }
  await setOddly(db, 'role', { ...settings, intervalstyle: `'iso_8601'` })
  await keepsItsPromises(db, db.workerUrl)
})

test('behind a pooler they change none, either', async () => {
  await using db = await readings()
  await setOddly(db, 'database')
  const { hostname, port } = new URL(db.workerUrl)
  await using proxy = await startFaultProxy({ host: hostname, port: Number(port) })
  proxy.pooling('transaction', { backends: 12 })
  await keepsItsPromises(db, proxy.url(db.workerUrl))
})

test('keys are read in a transaction of the caller with all their digits, and its settings come back', async () => {
  await using db = await readings()
  await using sluice = new Sluice({ database: db.workerUrl, operations: [count] })
  await using caller = await openClient(db.workerUrl)
  const forms = `select current_setting('extra_float_digits') as digits, current_setting('datestyle') as dates`
  await caller.query(`begin; set local extra_float_digits = -15; set local datestyle = 'SQL, DMY'`)
  const { id } = await sluice.operations.start(count, undefined, { tx: caller })
  expect((await caller.query(forms)).rows).toEqual([{ digits: '-15', dates: 'SQL, DMY' }])
  await caller.query('commit')
  const last = `select exists (select from odd.readings r join sluice.operation o
    on (r.at, r.day, r.span) = (o.carve_end[1]::float8, o.carve_end[2]::date, o.carve_end[3]::interval) where o.id = $1)`
  expect(await db.value(last, [id])).toBe(true)
})

test('partitions begin at midnight of UTC, whichever session makes them', async () => {
  await using db = await testDatabase()
  await using session = await openClient(db.url)
  await session.query(
    `set datestyle = 'SQL, DMY'; set timezone = 'Asia/Kolkata'; select sluice.create_history_partitions(9)`,
  )
  await session.query(`set datestyle = 'ISO'; set timezone = 'UTC'`)
  const { rows } = await session.query<{ bound: string }>(
    `select pg_get_expr(relpartbound, oid) as bound from pg_class where relkind = 'r' and relispartition and relname like 'batch_history_%'`,
  )
  expect(rows).toHaveLength(10)
  for (const { bound } of rows) expect(bound).toMatch(/FROM \('[-\d]+ 00:00:00\+00'\) TO \('[-\d]+ 00:00:00\+00'\)/)
})
