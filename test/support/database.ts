import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { inject } from 'vitest'
import type { Connection, StoreConnection } from '../../src/store/connection.ts'
import { templateName, withDatabase, workerPassword } from './cluster.ts'

/** A database of its own for one test, with our schema in it. */
export interface TestDatabase extends AsyncDisposable {
  /** As the owner of everything. */
  readonly url: string
  /** As an account that has the worker role and rights on users' tables, no more. */
  readonly workerUrl: string
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
  value<T>(text: string, values?: unknown[]): Promise<T>
}

/** Clones the migrated template. A database whose name begins otherwise is not one for tests: see sluice/testing. */
export async function testDatabase(
  clusterUrl: string = inject('clusterUrl'),
  { begins = 'test' }: { begins?: string } = {},
): Promise<TestDatabase> {
  const name = `${begins}_${randomBytes(6).toString('hex')}`
  await cloneTemplate(clusterUrl, name)
  const url = withDatabase(clusterUrl, name)
  const pool = new pg.Pool({ connectionString: url, max: 3 })
  pool.on('error', () => undefined)
  const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
    (await pool.query<Row>(text, values)).rows
  return {
    url,
    workerUrl: asWorker(url),
    query,
    async value<T>(text: string, values: unknown[] = []) {
      const [row] = await query(text, values)
      return Object.values(row ?? {})[0] as T
    },
    async [Symbol.asyncDispose]() {
      await pool.end()
      await sessionsOver(keeper(clusterUrl), name)
      await keeper(clusterUrl).query(`drop database if exists ${name} with (force)`)
    },
  }
}

/** The database as our modules see it. */
export const asConnection = (db: TestDatabase): Connection => ({
  async query(text, values) {
    const rows = await db.query<Record<string, unknown>>(text, values)
    return { rows, rowCount: rows.length }
  },
})

/** A client as our statements need it, in a transaction or not. */
export const onClient = (client: Connection): StoreConnection => ({
  schema: 'sluice',
  query: (text, values) => client.query(text, values),
})

function asWorker(url: string): string {
  const changed = new URL(url)
  changed.username = 'test_worker'
  changed.password = workerPassword
  return changed.href
}

/**
 * Waits a moment for sessions to end: a pool says that it is closed before they are, and one that the drop cuts off then
 * has nobody left to tell.
 */
async function sessionsOver(server: pg.Pool, name: string): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const there = `select count(*)::int as sessions from pg_stat_activity where datname = $1`
    const { rows } = await server.query<{ sessions: number }>(there, [name])
    if (rows[0]?.sessions === 0) return
    await sleep(10)
  }
}

const keepers = new Map<string, pg.Pool>()

/** Who makes and drops databases: logging in twice for each costs this process as much as all the rest of it. */
function keeper(clusterUrl: string): pg.Pool {
  const known = keepers.get(clusterUrl)
  if (known !== undefined) return known
  const pool = new pg.Pool({ connectionString: clusterUrl, max: 1, idleTimeoutMillis: 5_000, allowExitOnIdle: true })
  pool.on('error', () => undefined)
  keepers.set(clusterUrl, pool)
  return pool
}

/**
 * A copy of the template. Copied as files it takes half of the time that it takes page by page through the log, which
 * is the rule since PostgreSQL 15; 14 knows no other way than files. Only one session at a time may copy, and other
 * test files do so too.
 */
async function cloneTemplate(clusterUrl: string, name: string): Promise<void> {
  const create = `create database ${name} template ${templateName}`
  let text = `${create} strategy file_copy`
  for (let attempt = 1; ; attempt++) {
    try {
      await keeper(clusterUrl).query(text)
      return
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === '42601') text = create
      else if (code !== '55006' || attempt === 100) throw error
      else await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 60))
    }
  }
}
