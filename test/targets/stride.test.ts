import pg from 'pg'
import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { updateRows, type Slice } from '../../src/targets/change.ts'
import { pagesOf, striding, type Stride } from '../../src/targets/stride.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

const rows = 12_000
const size = 3_000
const walk = { table: 'public.full_pages', cursor: { columns: ['id'], types: ['bigint'] } }
const windows = Array.from({ length: rows / size }, (_, i) => ({
  lower: [`${i * size}`],
  upper: [`${(i + 1) * size}`],
}))
const isOpen = sql`not done`

async function fullPages(): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(`create table full_pages (id bigint primary key, done boolean not null default false, filling text not
    null default repeat('x', 150)) with (autovacuum_enabled = false)`)
  await db.query('insert into full_pages (id) select generate_series(1, $1::int)', [rows])
  await db.query('create index on full_pages ((id * 7919 % 10007))')
  await db.query('vacuum (analyze) full_pages')
  return db
}

/** Sets all rows, each window in so many transactions; gives how many new versions stayed on their page. */
async function setAll(db: TestDatabase, of: number): Promise<{ changed: number; hot: number; growth: number }> {
  const client = new pg.Client({ connectionString: db.url })
  await client.connect()
  const connection = { query: (text: string, values: unknown[]) => client.query(text, values) }
  const indexes = `select pg_indexes_size('full_pages')::float8`
  const before = await db.value<number>(indexes)
  let [changed, hot] = [0, 0]
  for (const window of windows) {
    const pages = await pagesOf(connection, { walk, window }, size)
    for (let at = 0; at < of; at++) {
      const stride: Stride | undefined = of === 1 ? undefined : { of, at, pages }
      const slice: Slice = striding({ walk, window, scope: isOpen }, stride)
      await client.query('begin')
      changed += await updateRows(connection, slice, sql`done = true`)
      const counted = `select n_tup_hot_upd::int as hot from pg_stat_xact_user_tables where relname = 'full_pages'`
      hot += (await client.query<{ hot: number }>(counted)).rows[0]?.hot ?? 0
      await client.query('commit')
    }
  }
  await client.end()
  return { changed, hot, growth: (await db.value<number>(indexes)) / before - 1 }
}

test('on full pages, new versions stay on their page with strides, and no index grows', async () => {
  await using db = await fullPages()
  const { changed, hot, growth } = await setAll(db, 10)
  expect(changed).toBe(rows)
  expect(await db.value('select count(*)::int from full_pages where not done')).toBe(0)
  expect(hot).toBeGreaterThan(rows * 0.8)
  expect(growth).toBeLessThanOrEqual(0.05)
})

test('without strides they do not, and the indexes grow', async () => {
  await using db = await fullPages()
  const { changed, hot, growth } = await setAll(db, 1)
  expect(changed).toBe(rows)
  expect(hot).toBeLessThan(rows * 0.2)
  expect(growth).toBeGreaterThan(0.2)
})

test('pages are read in one go only where the rows of a window lie close together', async () => {
  await using db = await fullPages()
  const connection = {
    query: async (text: string, values: unknown[]) => {
      const found = await db.query<Record<string, unknown>>(text, values)
      return { rows: found, rowCount: found.length }
    },
  }
  const [window] = windows
  if (window === undefined) throw new Error('there is no window')
  const close = await pagesOf(connection, { walk, window }, 200)
  expect(close?.first).toBe(0)
  expect(close?.last).toBeGreaterThan(30)
  await db.query('update full_pages set done = true where id = $1', [size])
  expect(await pagesOf(connection, { walk, window }, 200)).toBeUndefined()
  const beyond = { lower: [`${rows}`], upper: [`${rows + 1}`] }
  expect(await pagesOf(connection, { walk, window: beyond }, 200)).toBeUndefined()
})

test('the pages of a stride are read by their numbers', async () => {
  await using db = await fullPages()
  const [, window] = windows
  if (window === undefined) throw new Error('there is no window')
  const slice = striding({ walk, window, scope: isOpen }, { of: 10, at: 3, pages: { first: 60, last: 130 } })
  const recorded: string[] = []
  const recorder = {
    query: async (text: string, values: unknown[]) => {
      recorded.push(JSON.stringify(await db.query(`explain (format json) ${text}`, values)))
      return { rows: [], rowCount: 0 }
    },
  }
  await updateRows(recorder, slice, sql`done = true`)
  expect(recorded[0]).toContain('Tid Range Scan')
})
