import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { updateRows } from '../../src/targets/postgres/change.ts'
import { pagesOf, striding } from '../../src/targets/postgres/stride.ts'
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
