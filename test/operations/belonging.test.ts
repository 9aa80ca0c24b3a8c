import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expire, Sluice } from '../../src/index.ts'
import { uuidv7 } from '../../src/std/uuid.ts'
import { asEnqueuer } from '../support/accounts.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { openClient } from '../support/jobs.ts'
import { until } from '../support/wait.ts'
import { working } from '../support/working.ts'

const expireSessions = expire({ name: 'expire-sessions', table: 'sessions', by: 'created_at', olderThan: '90 days' })
const expireApproved = expire({
  name: 'expire-approved',
  table: 'sessions',
  by: 'created_at',
  olderThan: '90 days',
  approval: true,
})

/** What a start sends, for the table of the definition, as somebody might send it who goes around the library. */
function recorded(name: string, changes: object = {}): object {
  return {
    id: uuidv7(),
    name,
    args: {},
    tenant: null,
    actor: 'mallory',
    approval: false,
    fingerprint: uuidv7(),
    table_name: 'public.sessions',
    cursor_columns: ['id'],
    cursor_types: ['bigint'],
    lower_key: null,
    carve_end: ['1000'],
    until: 'end',
    verify: false,
    priority: 'normal',
    conflicts: 'table',
    lanes: 1,
    most_lanes: null,
    batch_size: 1_000,
    sub_batch_size: 1_000,
    quarantine_limit: 10,
    rows_estimate: 100,
    walk: 'key',
    walk_index: null,
    run_window: null,
    carve_size: null,
    tuned_size: null,
    reason: null,
    ...changes,
  }
}

let db: TestDatabase
let web: pg.Client
beforeAll(async () => {
  db = await testDatabase()
  await db.query(`create table sessions (id bigint primary key, created_at timestamptz not null)`)
  await db.query(`create table payments (id bigint primary key, created_at timestamptz not null)`)
  await db.query(`insert into payments select i, now() - interval '1 year' from generate_series(1, 100) i`)
  await db.query(`insert into sessions select i, now() - interval '1 year' from generate_series(1, 100) i`)
  web = new pg.Client({ connectionString: await asEnqueuer(db) })
  await web.connect()
  return () => db[Symbol.asyncDispose]()
})
afterAll(() => web.end())

async function start(operation: object): Promise<string> {
  const { rows } = await web.query<{ id: string }>(`select id from sluice.start_operation($1::text::jsonb, '{}')`, [
    JSON.stringify(operation),
  ])
  return rows[0]?.id ?? ''
}

const count = (table: string): Promise<number> => db.value(`select count(*)::int from ${table}`)

test('a worker does not touch a table that its own definition does not name', async () => {
  const { sluice, events } = working(db, [expireSessions])
  const id = await start(recorded('expire-sessions', { table_name: 'public.payments' }))
  await sluice.start()
  expect(await sluice.operations.wait(id, { everyMs: 20 })).toMatchObject({ state: 'failed', rowsChanged: 0 })
  expect(await events.event('operation.failed')).toMatchObject({
    operationId: id,
    error: { message: expect.stringContaining('public.payments by (id bigint)') as string },
  })
  await sluice.stop()
  expect(await count('payments')).toBe(100)
})

test('a worker walks by the cursor of its own definition only', async () => {
  const { sluice, events } = working(db, [expireSessions])
  const cursor = { cursor_columns: ['created_at', 'id'], cursor_types: ['timestamp with time zone', 'bigint'] }
  const id = await start(recorded('expire-sessions', { ...cursor, carve_end: ['infinity', '1000'] }))
  await sluice.start()
  expect(await sluice.operations.wait(id, { everyMs: 20 })).toMatchObject({ state: 'failed' })
  expect(await events.event('operation.failed')).toMatchObject({ error: { code: 'OPERATION_MISMATCH' } })
  await sluice.stop()
  expect(await count('sessions')).toBe(100)
})

test.each([
  ['a query for a table', { table_name: '(select id, created_at from public.payments) t' }],
  ['a table that does not exist', { table_name: 'public.nothing' }],
  ['a table without its schema', { table_name: 'sessions' }],
  ['a view', { table_name: 'pg_catalog.pg_tables', cursor_columns: ['tablename'], cursor_types: ['name'] }],
  ['an expression for a column', { cursor_columns: ['id) from payments; --'] }],
  ['an expression for a type', { cursor_types: ['bigint[])::text, set_config($$a$$, $$b$$, false'] }],
  ['another type than the column has', { cursor_types: ['integer'] }],
  ['no cursor', { cursor_columns: [], cursor_types: [] }],
  ['fewer types than columns', { cursor_columns: ['id', 'created_at'] }],
])('%s is not recorded', async (_, changes) => {
  await expect(start(recorded('expire-sessions', changes))).rejects.toMatchObject({ code: '22023' })
})

test('an operation that was recorded without its approval waits for one', async () => {
  const { sluice, events } = working(db, [expireApproved])
  const id = await start(recorded('expire-approved', { status: 'active', approved: true, pass: 7 }))
  expect(await db.value('select status from sluice.operation where id = $1', [id])).toBe('queued')
  await sluice.start()
  const settled = ['awaiting_approval', 'finished']
  await until('it waits or is over', async () => settled.includes((await sluice.operations.get(id)).state))
  expect((await sluice.operations.get(id)).state).toBe('awaiting_approval')
  expect(await count('sessions')).toBe(100)
  await sluice.operations.approve(id, { actor: 'ada' })
  await events.event('operation.finished')
  await sluice.stop()
  expect(await count('sessions')).toBe(0)
})

test('an account that may only enqueue starts operations, and the audit knows who did', async () => {
  const url = await asEnqueuer(db)
  await db.query(`insert into sessions select i, now() from generate_series(1001, 1010) i`)
  await db.query(`grant select on sessions to sluice_enqueue`)
  await using sluice = new Sluice({ database: url, operations: [expireApproved] })
  const { id } = await sluice.operations.start(expireApproved, undefined, { actor: 'ada', reason: 'spring cleaning' })
  expect(await sluice.operations.get(id)).toMatchObject({ state: 'awaiting_approval', actor: 'ada' })
  const acts = await db.query('select actor, source, action, after, reason from sluice.audit where target = $1', [id])
  const status = 'awaiting_approval'
  const after = { name: 'expire-approved', table: 'public.sessions', tenant: null, status, login: loginOf(url) }
  expect(acts).toEqual([{ actor: 'ada', source: 'api', action: 'operation.start', after, reason: 'spring cleaning' }])
})

const loginOf = (url: string): string => new URL(url).username

test('an account that may only enqueue records nothing but starts, and each of them with its own login', async () => {
  const url = await asEnqueuer(db)
  await using forger = await openClient(url)
  const lastAct = await db.value<string>('select coalesce(max(id), 0)::text from sluice.audit')
  await forger.query('set role sluice_enqueue')
  const forged = recorded('forged', { actor: 'the director', login: 'postgres', after: { login: 'postgres' } })
  const who = JSON.stringify({ source: 'dashboard', action: 'operation.approve', login: 'postgres', reason: 'forged' })
  await forger.query('select sluice.start_operation($1::text::jsonb, $2::text::jsonb)', [JSON.stringify(forged), who])
  const record = `select sluice.record_act('the director', 'cli', 'operation.approve', 'x', null, null, 'forged')`
  await expect(forger.query(record)).rejects.toMatchObject({ code: '42501' })
  const insert = `insert into sluice.audit (actor, source, action, target) values ('the director', 'cli', 'x', 'x')`
  await expect(forger.query(insert)).rejects.toMatchObject({ code: '42501' })
  await expect(forger.query('set session authorization postgres')).rejects.toMatchObject({ code: '42501' })

  const acts = await db.query(`select actor, action, after ->> 'login' as login from sluice.audit where id > $1`, [
    lastAct,
  ])
  expect(acts).toEqual([{ actor: 'the director', action: 'operation.start', login: loginOf(url) }])
})
