import pg from 'pg'
import { expect, test } from 'vitest'
import { readHistogram } from '../../src/targets/postgres/histogram.ts'
import type { Histogram } from '../../src/targets/target.ts'
import { resolveCursor } from '../../src/targets/postgres/cursor.ts'
import { describeTable } from '../../src/targets/postgres/table.ts'
import { keyAt, lastKey } from '../../src/targets/postgres/window.ts'
import type { Walk } from '../../src/targets/walk.ts'
import { asConnection, testDatabase, type TestDatabase } from '../support/database.ts'

async function walkOf(db: TestDatabase, table: string): Promise<Walk> {
  const shape = await describeTable(asConnection(db), table)
  return { table: shape.qualifiedName, cursor: resolveCursor(shape, undefined) }
}

async function sharesOf(
  db: TestDatabase,
  { table, cursor }: Walk,
  keys: (string | null)[],
): Promise<Histogram | undefined> {
  const [column = '', type = ''] = [cursor.columns[0], cursor.types[0]]
  return readHistogram(asConnection(db), { table, column, type }, keys)
}

const rows = 5_000

test.each([
  ['integers', 'k int', `n * n - 40000`],
  ['bigints beyond the reach of a JavaScript number', 'k bigint', `9007199254740993 + n * 3`],
  ['uuids', 'k uuid', `md5(n::text)::uuid`],
  ['texts by the collation of the column', 'k text collate "C"', `chr(65 + n % 57) || ' ''"\\,{}' || n`],
  ['texts by another collation', 'k text collate "en-x-icu"', `chr(65 + n % 57) || ' ''"\\,{}' || n`],
  ['timestamps', 'k timestamptz', `'2026-01-01'::timestamptz + n * interval '1 microsecond'`],
  ['odd names', '"k ""1""" int', 'n'],
])('the place of keys among %s is that of their rows', async (_, column, value) => {
  await using db = await testDatabase()
  await db.query(`create table "Odd placed" (${column} primary key)`)
  await db.query(`insert into "Odd placed" select ${value} from generate_series(1, ${rows}) n`)
  await db.query('analyze "Odd placed"')
  await db.query(`alter database ${new URL(db.url).pathname.slice(1)} set datestyle = 'German, DMY'`)
  const walk = await walkOf(db, '"Odd placed"')
  const upper = (await lastKey(asConnection(db), walk)) ?? []
  const wanted = [0.1, 0.25, 0.5, 0.9]
  const keys = await Promise.all(
    wanted.map(async (share) => {
      const key = await keyAt(asConnection(db), { walk, window: { lower: null, upper }, count: rows * share })
      return key?.[0] ?? ''
    }),
  )

  const found = await sharesOf(db, walk, [null, ...keys, upper[0] ?? ''])

  expect(found?.rows).toBe(rows)
  expect(found?.shares[0]).toBe(0)
  expect(found?.shares.at(-1)).toBe(1)
  for (const [i, share] of wanted.entries()) expect(Math.abs((found?.shares[i + 1] ?? 9) - share)).toBeLessThan(0.011)
})

test('few values that are common have their place too, half of a value being its middle', async () => {
  await using db = await testDatabase()
  await db.query('create table shared (tenant int, id int, primary key (tenant, id))')
  await db.query('insert into shared select case when n <= 600 then 1 else 2 end, n from generate_series(1, 1000) n')
  await db.query('analyze shared')
  const found = await sharesOf(db, await walkOf(db, 'shared'), ['0', '1', '2', '3'])
  expect(found?.shares.map((share) => Number(share.toFixed(3)))).toEqual([0, 0.3, 0.8, 1])
})

test('a partitioned table has the statistics of the whole', async () => {
  await using db = await testDatabase()
  await db.query('create table parts (k int primary key) partition by range (k)')
  await db.query('create table parts_1 partition of parts for values from (0) to (1001)')
  await db.query('create table parts_2 partition of parts for values from (1001) to (10000)')
  await db.query('insert into parts select generate_series(1, 4000)')
  await db.query('analyze parts')
  const found = await sharesOf(db, await walkOf(db, 'parts'), ['1000', '4000'])
  expect(found?.rows).toBe(4_000)
  expect(found?.shares[0]).toBeCloseTo(0.25, 1)
  expect(found?.shares[1]).toBe(1)
})

test('there is no answer without statistics, without the right to see them, or without the table', async () => {
  await using db = await testDatabase()
  await db.query('create table fresh (k int primary key)')
  await db.query('insert into fresh select generate_series(1, 100)')
  const walk = await walkOf(db, 'fresh')
  expect(await sharesOf(db, walk, ['50'])).toBeUndefined()
  await db.query('analyze fresh')
  expect(await sharesOf(db, walk, ['50'])).toMatchObject({ rows: 100 })
  const worker = new pg.Client({ connectionString: db.workerUrl })
  await worker.connect()
  try {
    const column = { table: walk.table, column: 'k', type: 'integer' }
    expect(await readHistogram(worker, column, ['50'])).toMatchObject({ rows: 100 })
    await db.query('revoke all on fresh from test_worker')
    expect(await readHistogram(worker, column, ['50'])).toBeUndefined()
    expect(await readHistogram(worker, { ...column, table: 'public.gone' }, ['50'])).toBeUndefined()
  } finally {
    await worker.end()
  }
})
