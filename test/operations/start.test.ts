import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { backfill, defineOperation, expire, Sluice, sql, type OperationDefinition } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { run } from '../support/cluster.ts'

const perform = async (): Promise<void> => undefined
const plain = (spec: object): OperationDefinition<undefined> =>
  defineOperation({ name: 'x', perform, ...spec } as never)

let db: TestDatabase
let sluice: Sluice

beforeAll(async () => {
  db = await testDatabase()
  await db.query(
    `create table events (id bigint primary key, kind text, at timestamptz not null default now(), pair int not null)`,
  )
  await db.query(`create unique index on events (pair, id)`)
  await db.query(`create unique index partial on events (pair) where kind = 'x'`)
  await db.query(`create table "Odd Names" ("the key" text primary key, "a""b" int)`)
  await db.query(`create table keyless (a int)`)
  await db.query(`create extension hstore`)
  await db.query(`create table bags (bag hstore primary key)`)
  await db.query(`create table computed (id int generated always as identity primary key, n int,
    twice int generated always as (n * 2) stored)`)
  await db.query(`create view watched as select * from events`)
  await db.query(`create table hidden (id int primary key)`)
  await db.query(`revoke all on hidden from test_worker`)
  await db.query(`insert into events (id, pair) select n, n % 3 from generate_series(1, 10) n`)
  sluice = new Sluice({ database: db.workerUrl })
})

afterAll(async () => {
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

const recorded = (): Promise<number> =>
  db.value('select (select count(*) from sluice.operation)::int + (select count(*) from sluice.batch)::int')

describe('a mistake is told before anything is written', () => {
  test.each([
    ['an unknown table', { table: 'event' }, 'TABLE_NOT_FOUND', 'Did you mean "events"?'],
    ['a table with capitals', { table: 'odd names' }, 'TABLE_NOT_FOUND', `'"Odd Names"'`],
    ['an unquoted table with capitals', { table: 'Events2' }, 'TABLE_NOT_FOUND', 'no table'],
    ['a view', { table: 'watched' }, 'TABLE_INVALID', 'not a table'],
    ['an unknown schema', { table: 'nowhere.events' }, 'TABLE_NOT_FOUND', 'no table'],
    ['a name that is SQL', { table: 'events; drop table events' }, 'TABLE_NOT_FOUND', 'no table'],
    ['a table of another database', { table: 'other.public.events' }, 'TABLE_INVALID', 'cross-database'],
    ['a table without a key', { table: 'keyless' }, 'CURSOR_INVALID', 'no primary key'],
    ['an unknown cursor column', { table: 'events', cursor: ['idd'] }, 'CURSOR_INVALID', 'Did you mean "id"?'],
    ['a nullable cursor', { table: 'events', cursor: ['kind', 'id'] }, 'CURSOR_NULLABLE', 'NOT NULL'],
    [
      'a cursor that is not unique',
      { table: 'events', cursor: ['at'] },
      'CURSOR_NOT_UNIQUE',
      'Append the primary key (id)',
    ],
    ['a cursor that is unique in part', { table: 'events', cursor: ['pair'] }, 'CURSOR_NOT_UNIQUE', 'Append'],
    [
      'a cursor without an index',
      { table: 'events', cursor: ['at', 'id'] },
      'CURSOR_NOT_INDEXED',
      'create index concurrently',
    ],
    ['a key without an order', { table: 'bags' }, 'CURSOR_INVALID', 'have no order'],
    ['a table of ours', { table: 'sluice.operation' }, 'TABLE_INVALID', 'belongs to Sluice itself'],
    ['a table that may not be read', { table: 'hidden' }, 'PERMISSION_DENIED', 'grant select'],
    [
      'a scope with a syntax error',
      { table: 'events', scope: () => sql`kind = = 'x'` },
      'SCOPE_INVALID',
      'syntax error',
    ],
    ['a scope with an unknown column', { table: 'events', scope: () => sql`color = 'x'` }, 'SCOPE_INVALID', 'color'],
    [
      'a scope with a wrong type',
      { table: 'events', scope: () => sql`id = ${'abc'}::bigint` },
      'SCOPE_INVALID',
      'bigint',
    ],
  ])('%s', async (_, spec, code, said) => {
    await expect(sluice.operations.start(plain(spec))).rejects.toMatchObject({
      code,
      message: expect.stringContaining(said),
    })
    expect(await recorded()).toBe(0)
  })

  test.each([
    ['that the database computes', 'twice', 'The database computes the column "twice" of public.computed'],
    ['that the database numbers', 'id', 'The database computes the column "id" of public.computed'],
  ])('a value for a column %s', async (_, column, said) => {
    const fill = backfill({ name: 'x', table: 'computed', set: { [column]: sql`1` } })
    await expect(sluice.operations.start(fill)).rejects.toMatchObject({
      code: 'TABLE_INVALID',
      message: expect.stringContaining(said),
    })
    expect(await recorded()).toBe(0)
  })

  const withArgs = defineOperation({
    name: 'typed',
    table: 'events',
    args: z.object({ kind: z.string(), until: z.coerce.date().optional() }),
    perform,
  })

  test.each([
    ['a missing property', {}, 'args.kind'],
    ['a wrong type', { kind: 5 }, 'args.kind'],
    ['a NUL', { kind: 'a\0b' }, 'args.kind'],
    ['a Map', new Map(), 'args'],
    ['a bad date', { kind: 'x', until: 'tomorrow-ish' }, 'args.until'],
    ['far too much', { kind: 'x'.repeat(300_000) }, '262144'],
  ])('args with %s', async (_, args, said) => {
    await expect(sluice.operations.start(withArgs, args as never)).rejects.toMatchObject({
      code: 'ARGS_INVALID',
      message: expect.stringContaining(said),
    })
    expect(await recorded()).toBe(0)
  })

  test('args where none are taken', async () => {
    await expect(sluice.operations.start(plain({ table: 'events' }), 5 as never)).rejects.toMatchObject({
      code: 'ARGS_INVALID',
    })
  })

  test('a database that is down', async () => {
    await using nowhere = new Sluice({ database: 'postgres://u:s3cret@127.0.0.1:1/x' })
    const failure = nowhere.operations.start(plain({ table: 'events' }))
    await expect(failure).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' })
    await expect(failure).rejects.not.toMatchObject({ message: expect.stringContaining('s3cret') })
  })

  test('a wrong password', async () => {
    const url = new URL(db.url)
    url.password = 'wrong'
    await using locked = new Sluice({ database: url.href })
    await expect(locked.start()).rejects.toMatchObject({
      code: 'DATABASE_REFUSED',
      message: expect.stringMatching(
        /^The database server refuses the connection: password authentication failed .*\. Check user and password/,
      ),
    })
  })

  test('a database that is not there', async () => {
    const url = new URL(db.url)
    url.pathname = '/nowhere'
    await using lost = new Sluice({ database: url.href })
    await expect(lost.operations.list()).rejects.toMatchObject({
      code: 'DATABASE_REFUSED',
      message: expect.stringMatching(/database "nowhere" does not exist\. Correct the name of the database/),
    })
  })

  test('a database without our schema', async () => {
    await using bare = new Sluice({ database: db.url, schema: 'elsewhere' })
    await expect(bare.start()).rejects.toMatchObject({
      code: 'SCHEMA_MISSING',
      message: expect.stringContaining('sluice migrate'),
    })
    await expect(bare.operations.start(plain({ table: 'events' }))).rejects.toMatchObject({ code: 'SCHEMA_MISSING' })
  })

  test('a role without rights on our tables', async () => {
    await run(
      db.url,
      `do $$ begin create role test_stranger login password 'x'; exception when duplicate_object then null; end $$; grant select on events to test_stranger`,
    )
    const url = new URL(db.url)
    url.username = 'test_stranger'
    url.password = 'x'
    await using stranger = new Sluice({ database: url.href })
    await expect(stranger.operations.start(plain({ table: 'events' }))).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('sluice grants'),
    })
  })

  test('an unknown operation id', async () => {
    await expect(sluice.operations.get(`'; drop table x`)).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' })
    await expect(sluice.operations.get('00000000-0000-7000-8000-000000000000')).rejects.toMatchObject({
      code: 'OPERATION_NOT_FOUND',
    })
  })
})

describe('starting', () => {
  test('walks by the primary key unless told otherwise, whatever the names', async () => {
    const odd = plain({ name: 'odd', table: '"Odd Names"', scope: () => sql`"a""b" > 1` })
    const { id } = await sluice.operations.start(odd)
    expect(
      await db.query(
        'select table_name, cursor_columns, cursor_types, fully_carved from sluice.operation where id = $1',
        [id],
      ),
    ).toEqual([
      { table_name: 'public."Odd Names"', cursor_columns: ['the key'], cursor_types: ['text'], fully_carved: true },
    ])
  })

  test('twice with equal args gives one operation, also when both start at once', async () => {
    const twice = defineOperation({
      name: 'twice',
      table: 'events',
      args: z.object({ a: z.number(), b: z.number() }),
      perform,
    })
    const starts = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        sluice.operations.start(twice, i % 2 === 0 ? { a: 1, b: 2 } : { b: 2, a: 1 }),
      ),
    )
    expect(new Set(starts.map(({ id }) => id)).size).toBe(1)
    expect(starts.filter(({ duplicate }) => !duplicate)).toHaveLength(1)
    const other = await sluice.operations.start(twice, { a: 1, b: 2 }, { tenant: 'acme' })
    expect(other.duplicate).toBe(false)
  })

  test('in a transaction that cannot see an equal one of another says so and writes nothing', async () => {
    const strict = plain({ name: 'strict', table: 'events' })
    const client = new pg.Client({ connectionString: db.url })
    await client.connect()
    await client.query('begin isolation level repeatable read')
    await client.query('select 1 from events')
    await sluice.operations.start(strict)
    const failure = sluice.operations.start(strict, undefined, { tx: client })
    await expect(failure).rejects.toMatchObject({ code: expect.stringMatching(/^ISOLATION_TOO_STRICT$|^40001$/) })
    await client.query('rollback')
    await client.end()
  })

  test('in a transaction of the caller exists when that commits, and only then', async () => {
    const joined = expire({ name: 'joined', table: 'events', by: 'at', olderThan: '1 day' })
    const client = new pg.Client({ connectionString: db.url })
    await client.connect()
    await client.query('begin')
    const first = await sluice.operations.start(joined, undefined, { tx: client })
    await client.query('rollback')
    await expect(sluice.operations.get(first.id)).rejects.toMatchObject({ code: 'OPERATION_NOT_FOUND' })
    await client.query('begin')
    const second = await sluice.operations.start(joined, undefined, { tx: client })
    await expect(sluice.operations.start(plain({ table: 'nope' }), undefined, { tx: client })).rejects.toMatchObject({
      code: 'TABLE_NOT_FOUND',
    })
    await client.query('commit')
    await client.end()
    expect(await sluice.operations.get(second.id)).toMatchObject({ name: 'joined', state: 'queued' })
  })
})
