import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { backfill, defineOperation, expire, sql } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { findingsOf, planOf } from './preflight-place.ts'

let db: TestDatabase

beforeAll(async () => {
  db = await testDatabase()
})

afterAll(async () => {
  await db[Symbol.asyncDispose]()
})

/** A table with the columns that the definitions below use. */
async function table(name: string, more = ''): Promise<void> {
  await db.query(
    `create table ${name} (id bigint primary key, at timestamptz not null default now(), kind text, n int) ${more}`,
  )
  await db.query(`insert into ${name} (id, kind) select i, 'x' from generate_series(1, 50) i`)
  await db.query(`analyze ${name}`)
}

const expiryOf = (name: string) => expire({ name: 'old', table: name, olderThan: '90 days', by: 'at' })
const fillOf = (name: string, column = 'n') => backfill({ name: 'fill', table: name, set: { [column]: sql`null` } })
const anyWork = (name: string) => defineOperation({ name: 'any', table: name, perform: async () => 0 })

test('a table without anything around it has no findings', async () => {
  await table('plain')
  expect(await planOf(db, expiryOf('plain'), { dryRun: false })).toMatchObject({ findings: [], refused: false })
})

describe('foreign keys', () => {
  beforeAll(async () => {
    await table('parent')
    await db.query(`create table bare_child (id int primary key, "the parent" bigint references parent)`)
    await db.query(`create table good_child (id int primary key, parent_id bigint references parent on delete cascade)`)
    await db.query(`create index on good_child (parent_id) where parent_id is not null`)
    await db.query(`insert into bare_child select i, 1 from generate_series(1, 7) i`)
    await db.query(`analyze bare_child`)
  })

  test('without an index on the other side are told with the index to create', async () => {
    expect(await findingsOf(db, expiryOf('parent'), 'foreign key')).toEqual([
      {
        check: 'foreign key',
        severity: 'warn',
        what: 'bare_child refers to public.parent by bare_child_the parent_fkey, and no index of it starts with (the parent)',
        why: 'Each deleted row makes the database read all of bare_child, about 7 rows',
        remedy: 'Run: create index concurrently on bare_child ("the parent");',
      },
    ])
  })

  test('that act on other rows are told, because nothing can throttle them', async () => {
    const [finding, ...others] = await findingsOf(db, expiryOf('parent'), 'cascade')
    expect(finding).toMatchObject({ severity: 'warn', what: expect.stringContaining('good_child (cascade)') as string })
    expect(finding?.why).toContain('cannot be throttled')
    expect(others).toEqual([])
  })

  test('do not concern updates, and may concern work that nothing is known of', async () => {
    expect(await findingsOf(db, fillOf('parent'), 'foreign key')).toEqual([])
    expect(await findingsOf(db, fillOf('parent'), 'cascade')).toEqual([])
    const [finding] = await findingsOf(db, anyWork('parent'), 'foreign key')
    expect(finding?.why).toContain('if rows are deleted')
  })
})

test('triggers are named when the change makes them run for each row', async () => {
  await table('triggered')
  await db.query(`create function nothing() returns trigger language plpgsql as 'begin return old; end'`)
  await db.query(`create trigger on_delete after delete on triggered for each row execute function nothing()`)
  await db.query(`create trigger on_kind after update of kind on triggered for each row execute function nothing()`)
  await db.query(`create trigger once after delete on triggered for each statement execute function nothing()`)
  await db.query(`create trigger idle after delete on triggered for each row execute function nothing()`)
  await db.query(`alter table triggered disable trigger idle`)
  const what = async (definition: Parameters<typeof findingsOf>[1]) =>
    (await findingsOf(db, definition, 'trigger')).map((finding) => finding.what)
  expect(await what(expiryOf('triggered'))).toEqual(['The trigger on_delete runs for each row'])
  expect(await what(fillOf('triggered', 'n'))).toEqual([])
  expect(await what(fillOf('triggered', 'kind'))).toEqual(['The trigger on_kind runs for each row'])
  expect(await what(anyWork('triggered'))).toEqual(['The triggers on_delete, on_kind run for each row'])
})

test('REPLICA IDENTITY FULL is told', async () => {
  await table('replicated')
  await db.query('alter table replicated replica identity full')
  expect(await findingsOf(db, expiryOf('replicated'), 'replica identity')).toMatchObject([
    { severity: 'warn', remedy: expect.stringContaining('replica identity default;') as string },
  ])
})

describe('HOT', () => {
  test('is impossible where an index has a column that is set, also by an expression or a predicate', async () => {
    await table('cold')
    await db.query('create index cold_n on cold (n)')
    await db.query('create index cold_kind on cold (id) where kind is null')
    expect(await findingsOf(db, fillOf('cold', 'n'), 'HOT')).toMatchObject([
      { severity: 'warn', what: 'The update sets columns that are in the index cold_n' },
    ])
    expect(await findingsOf(db, fillOf('cold', 'kind'), 'HOT')).toMatchObject([
      { severity: 'warn', what: 'The update sets columns that are in the index cold_kind' },
    ])
  })

  test('depends on room where none has, and is no matter where pages have room', async () => {
    await table('warm')
    await db.query('create index warm_at on warm (at)')
    expect(await findingsOf(db, fillOf('warm', 'n'), 'HOT')).toMatchObject([{ severity: 'note' }])
    await db.query('alter table warm set (fillfactor = 80)')
    expect(await findingsOf(db, fillOf('warm', 'n'), 'HOT')).toEqual([])
    expect(await findingsOf(db, expiryOf('warm'), 'HOT')).toEqual([])
  })
})

describe('partitions that could be dropped', () => {
  beforeAll(async () => {
    await db.query(
      `create table parted (id bigint, at timestamptz not null, primary key (at, id)) partition by range (at)`,
    )
    await db.query(`create table parted_2020 partition of parted for values from ('2020-01-01') to ('2021-01-01')`)
    await db.query(`create table parted_2021 partition of parted for values from ('2021-01-01') to ('2022-01-01')`)
    await db.query(`create table parted_on partition of parted for values from ('2022-01-01') to ('2999-01-01')`)
    await db.query(
      `insert into parted select i, '2020-06-01'::timestamptz + i * interval '1 day' from generate_series(1, 400) i`,
    )
    await db.query(`analyze parted`)
  })

  test('are told when rows are deleted by the age that is the partition key', async () => {
    const [finding] = await findingsOf(db, expiryOf('parted'), 'partitions')
    expect(finding).toMatchObject({
      severity: 'warn',
      what: 'public.parted is partitioned by at, and all rows of 2 partitions are old enough: parted_2020, parted_2021',
      remedy: expect.stringContaining('detach partition parted_2020 concurrently;') as string,
    })
    expect(finding?.why).toContain('about 400 rows')
  })

  test('are not told to those who do something else', async () => {
    const young = expire({ name: 'young', table: 'parted', olderThan: '100 years', by: 'at' })
    expect(await findingsOf(db, young, 'partitions')).toEqual([])
    expect(await findingsOf(db, anyWork('parted'), 'partitions')).toEqual([])
  })
})

test('an index that is not valid is told with how to get rid of it', async () => {
  await table('broken')
  await expect(db.query('create unique index concurrently broken_kind on broken (kind)')).rejects.toThrow(
    'could not create',
  )
  expect(await findingsOf(db, expiryOf('broken'), 'index')).toMatchObject([
    { severity: 'warn', what: 'The index broken_kind of public.broken is not valid' },
  ])
})

test('an unlogged table is noted', async () => {
  await db.query('create unlogged table flighty (id bigint primary key, at timestamptz)')
  expect(await findingsOf(db, expiryOf('flighty'), 'unlogged')).toMatchObject([{ severity: 'note' }])
})

test('row security that hides rows from the role is told', async () => {
  await table('secured')
  await db.query('alter table secured enable row level security')
  await db.query('create policy few on secured using (id < 10)')
  const [finding] = await findingsOf(db, expiryOf('secured'), 'row security')
  expect(finding).toMatchObject({ severity: 'warn', remedy: expect.stringContaining('BYPASSRLS') as string })
})

test('a table without statistics is noted', async () => {
  await db.query('create table unknown_rows (id bigint primary key, at timestamptz)')
  await db.query('alter table unknown_rows set (autovacuum_enabled = off)')
  await db.query('insert into unknown_rows select generate_series(1, 10)')
  expect(await findingsOf(db, expiryOf('unknown_rows'), 'statistics')).toMatchObject([
    { severity: 'note', remedy: 'Run: analyze public.unknown_rows;' },
  ])
})

test('another table that each sub-batch would read whole is told', async () => {
  await table('asking')
  await db.query('create table asked (ref bigint, flag boolean)')
  await db.query('insert into asked select i % 50, true from generate_series(1, 20000) i')
  await db.query('analyze asked')
  const asking = defineOperation({
    name: 'ask',
    table: 'asking',
    scope: () => sql`id in (select ref from asked where flag)`,
    perform: ({ batch }) => batch.delete(),
  })
  expect(await findingsOf(db, asking, 'other table')).toMatchObject([
    { severity: 'warn', what: 'Each sub-batch would read all of public.asked, about 20,000 rows' },
  ])
})

test('a table of which hardly anything is left is no reason to refuse', async () => {
  await db.query(
    'create table emptied (id bigint primary key, at timestamptz not null) with (autovacuum_enabled = off)',
  )
  await db.query('create index on emptied (at)')
  await db.query(`insert into emptied select n, now() - interval '1 day' * n from generate_series(1, 20000) n`)
  await db.query('analyze emptied')
  const old = expire({ name: 'old', table: 'emptied', olderThan: '90 days', by: 'at' })
  await db.query(`delete from emptied where at < now() - interval '90 days'`)
  expect(await findingsOf(db, old, 'scan')).toEqual([])
  await db.query('analyze emptied')
  expect(await findingsOf(db, old, 'scan')).toEqual([])
  await db.query('delete from emptied')
  await db.query('vacuum analyze emptied')
  expect(await findingsOf(db, old, 'scan')).toEqual([])
})
