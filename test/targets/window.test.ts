import sql, { raw } from 'sql-template-tag'
import { expect, test } from 'vitest'
import type { Key } from '../../src/store/operations.ts'
import { resolveCursor } from '../../src/targets/postgres/cursor.ts'
import { describeTable } from '../../src/targets/postgres/table.ts'
import { countRows, keyAt, lastKey, within } from '../../src/targets/postgres/window.ts'
import type { Walk } from '../../src/targets/walk.ts'
import { asConnection, testDatabase, type TestDatabase } from '../support/database.ts'

/** Walks a table in windows of `size` rows and marks every row of each window; gives the number of windows. */
async function markAll(db: TestDatabase, walk: Walk, size: number): Promise<number> {
  const connection = asConnection(db)
  const end = (await lastKey(connection, walk)) ?? []
  let lower: Key | null = null
  let windows = 0
  while (lower?.join('\n') !== end.join('\n')) {
    const upper: Key = (await keyAt(connection, { walk, window: { lower, upper: end }, count: size })) ?? end
    const marking = sql`update ${raw(walk.table)} set marks = marks + 1 where ${within(walk, { lower, upper })}`
    expect(await countRows(connection, walk, { lower, upper })).toBeLessThanOrEqual(size)
    await db.query(marking.text, marking.values)
    lower = upper
    windows += 1
  }
  return windows
}

test.each([
  ['integers with gaps, also negative', 'k int', `n * n - 40000`, ['k']],
  ['bigints beyond the reach of a JavaScript number', 'k bigint', `9007199254740993 + n`, ['k']],
  ['uuids', 'k uuid', `gen_random_uuid()`, ['k']],
  ['texts by their collation', 'k text collate "C"', `chr(65 + n % 57) || ' ''"\\%_' || n`, ['k']],
  ['texts by the collation of the database', 'k text', `chr(97 + n % 26) || upper(chr(97 + n % 7)) || n`, ['k']],
  ['timestamps by the microsecond', 'k timestamptz', `'2026-01-01'::timestamptz + n * interval '1 microsecond'`, ['k']],
  ['timestamps without a zone', 'k timestamp', `'2026-03-29 01:59'::timestamp + n * interval '1 second'`, ['k']],
  ['texts of fixed length', 'k char(8)', `'k' || n`, ['k']],
  ['bits of fixed length', 'k bit(16)', `n::bit(16)`, ['k']],
  ['dates', 'k date', `'0044-03-15'::date + n`, ['k']],
  ['numerics', 'k numeric', `n / 7.0`, ['k']],
  ['enums in their own order', `k mood, j int`, `(array['sad', 'ok', 'happy']::mood[])[1 + n % 3], n`, ['k', 'j']],
  [
    'pairs of uuid and timestamp',
    'k uuid, j timestamptz',
    `md5((n % 5)::text)::uuid, '2026-01-01'::timestamptz + n * interval '1 microsecond'`,
    ['k', 'j'],
  ],
  ['odd column names', '"Key ""1""" int', `n`, ['Key "1"']],
] as const)('a walk by %s meets every row once', async (_, columns, values, cursor) => {
  await using db = await testDatabase()
  await db.query(`create type mood as enum ('sad', 'ok', 'happy')`)
  const quoted = cursor.map((name) => `"${name.replaceAll('"', '""')}"`).join(', ')
  await db.query(`create table walked (${columns}, marks int not null default 0, primary key (${quoted}))`)
  await db.query(`insert into walked (${quoted}) select ${values} from generate_series(1, 500) n`)
  await db.query(`alter database ${new URL(db.url).pathname.slice(1)} set datestyle = 'German, DMY'`)
  const shape = await describeTable(asConnection(db), 'walked')
  const walk: Walk = { table: shape.qualifiedName, cursor: resolveCursor(shape, undefined) }

  expect(walk.cursor.columns).toEqual(cursor)
  expect(await markAll(db, walk, 37)).toBe(Math.ceil(500 / 37))
  expect(await db.query('select marks, count(*)::int as rows from walked group by marks')).toEqual([
    { marks: 1, rows: 500 },
  ])
})

test('a window is served by one index range, whatever the filter', async () => {
  await using db = await testDatabase()
  await db.query('create table ranged (a int, b int, c int, primary key (a, b))')
  await db.query('insert into ranged select n % 100, n, 0 from generate_series(1, 20000) n')
  await db.query('vacuum analyze ranged')
  const walk: Walk = { table: 'public.ranged', cursor: { columns: ['a', 'b'], types: ['integer', 'integer'] } }
  const window = { lower: ['40', '7040'], upper: ['41', '2041'] }
  const query = sql`explain (analyze, format json, timing off) select from ranged where ${within(walk, window)} and (c = 0)`
  const [explained] = await db.query<{ 'QUERY PLAN': [{ Plan: Record<string, unknown> }] }>(query.text, query.values)
  const root = explained?.['QUERY PLAN'][0].Plan
  const [child] = (root?.['Plans'] ?? []) as Record<string, unknown>[]
  // The planner may go by a bitmap; the bounds are index conditions either way, and no row is read in vain.
  const condition = String(root?.['Index Cond'] ?? child?.['Index Cond'])
  expect(condition).toContain('>')
  expect(condition).toContain('<=')
  expect(root?.['Rows Removed by Filter'] ?? 0).toBe(0)
})

test('a partitioned table is walked as one', async () => {
  await using db = await testDatabase()
  await db.query('create table parts (k int, marks int not null default 0, primary key (k)) partition by hash (k)')
  for (const i of [0, 1, 2])
    await db.query(`create table parts_${i} partition of parts for values with (modulus 3, remainder ${i})`)
  await db.query('insert into parts (k) select generate_series(1, 500)')
  await db.query('analyze parts')
  const shape = await describeTable(asConnection(db), 'parts')
  expect(shape.rowsEstimate).toBe(500)
  await markAll(db, { table: shape.qualifiedName, cursor: resolveCursor(shape, undefined) }, 90)
  expect(await db.value('select count(*)::int from parts where marks = 1')).toBe(500)
})
