import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { EmbeddedPostgres } from '../../src/embedded/index.ts'
import { backfill } from '../../src/index.ts'
import { updateRows } from '../../src/targets/postgres/change.ts'
import type { Slice } from '../../src/targets/walk.ts'
import { pagesOf, striding } from '../../src/targets/postgres/stride.ts'
import type { Stride } from '../../src/targets/work.ts'
import { startCluster } from '../support/cluster.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { patient, working } from '../support/working.ts'

/**
 * A server of their own: a transaction that writes keeps all databases of its server from cleaning pages up, and other
 * tests have such ones open for long.
 */
let [folder, server]: [string, EmbeddedPostgres | undefined] = ['', undefined]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-full-pages-'))
  server = await startCluster(folder, { settings: { fsync: 'off', autovacuum: 'off' } })
})

afterAll(async () => {
  await server?.stop('immediate')
  await rm(folder, { recursive: true, force: true, maxRetries: 3 })
})

const rows = 12_000
const size = 3_000
const walk = { table: 'public.full_pages', cursor: { columns: ['id'], types: ['bigint'] } }

async function fullPages(): Promise<TestDatabase> {
  const db = await testDatabase(server?.url)
  await db.query(
    `create table full_pages (id bigint primary key, done boolean not null default false, filling text not null)`,
  )
  await db.query(`insert into full_pages select i, false, repeat('x', 150) from generate_series(1, $1::int) i`, [rows])
  await db.query('create index full_pages_other on full_pages ((id * 7919 % 10007))')
  await db.query('vacuum (analyze) full_pages')
  return db
}

const indexBytes = (db: TestDatabase): Promise<number> => db.value(`select pg_indexes_size('full_pages')::float8`)

/** Sets all rows, each window in so many transactions; gives how many new versions stayed on their page. */
async function setAll(db: TestDatabase, of: number): Promise<number> {
  const client = new pg.Client({ connectionString: db.url })
  await client.connect()
  const connection = { query: (text: string, values: unknown[]) => client.query(text, values) }
  let hot = 0
  for (let lower = 0; lower < rows; lower += size) {
    const window = { lower: [`${lower}`], upper: [`${lower + size}`] }
    const pages = await pagesOf(connection, { walk, window }, size)
    for (let at = 0; at < of; at++) {
      const stride: Stride | undefined = of === 1 ? undefined : { of, at, pages }
      const slice: Slice = striding({ walk, window, scope: sql`not done` }, stride)
      await client.query('begin')
      await updateRows(connection, slice, sql`done = true`)
      const counted = `select n_tup_hot_upd::int as hot from pg_stat_xact_user_tables where relname = 'full_pages'`
      hot += (await client.query<{ hot: number }>(counted)).rows[0]?.hot ?? 0
      await client.query('commit')
    }
  }
  await client.end()
  expect(await db.value('select count(*)::int from full_pages where not done')).toBe(0)
  return hot
}

test('with strides new versions stay on their page, and no index grows', async () => {
  await using db = await fullPages()
  const before = await indexBytes(db)
  expect(await setAll(db, 10)).toBeGreaterThan(rows * 0.8)
  expect((await indexBytes(db)) / before).toBeLessThanOrEqual(1.05)
})

test('without strides they do not, and the indexes grow', async () => {
  await using db = await fullPages()
  const before = await indexBytes(db)
  expect(await setAll(db, 1)).toBeLessThan(rows * 0.2)
  expect((await indexBytes(db)) / before).toBeGreaterThan(1.2)
})

// How indexes grow is asked above, where nobody else is: a worker has other sessions, and each row that is changed while
// a snapshot of theirs stands still goes elsewhere.
test('an operation with strides leaves most new versions on their page', async () => {
  await using db = await fullPages()
  const set = { done: sql`true` }
  const finish = backfill({ name: 'finish', table: 'full_pages', set, subBatchSize: 100, verify: false })
  const { sluice, events } = working(db, [finish], patient)
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(finish)
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: rows, rowsChanged: rows })
  const parts = events.payloads('sub-batch.committed').filter(({ rowsSeen }) => rowsSeen === 0)
  expect(parts.length).toBeGreaterThan(50)
  await sluice.stop()
  const counted = `select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'full_pages'`
  const told = async (): Promise<{ all: number; hot: number } | undefined> =>
    (await db.query<{ all: number; hot: number }>(counted))[0]
  await until('statistics tell of all updates', async () => ((await told())?.all ?? 0) >= rows)
  expect((await told())?.hot).toBeGreaterThan(rows * 0.5)
})
