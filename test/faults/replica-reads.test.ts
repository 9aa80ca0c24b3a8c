// Looks ahead of operations on a real streaming replica: it is read, and its absence harms nobody.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backfill, Sluice } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startPair, type Pair } from '../support/replica.ts'
import { until } from '../support/wait.ts'
import { working } from '../support/working.ts'

const settings = { fsync: 'off', synchronous_commit: 'off', max_connections: '60', shared_buffers: '64MB' }
const rows = 3_000
const sizes = { batchSize: 500, subBatchSize: 100 }
const finish = backfill({ name: 'finish', table: 'things', set: { done: sql`true` }, reads: 'replica', ...sizes })

let folder: string
let pair: Pair
let db: TestDatabase

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-replica-reads-'))
  pair = await startPair(folder, settings)
  db = await testDatabase(pair.primary.url)
  await db.query('create table things (id bigint primary key, done boolean)')
  await caughtUp()
})

afterAll(async () => {
  await db[Symbol.asyncDispose]()
  await pair[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

/** The same database and account on the replica. */
function onReplica(url: string): string {
  const there = new URL(url)
  there.port = new URL(pair.replica.url).port
  return there.href
}

async function caughtUp(): Promise<void> {
  const at = await db.value<string>('select pg_current_wal_flush_lsn()::text')
  const reached = `select pg_wal_lsn_diff(replay_lsn, '${at}') >= 0 from pg_stat_replication`
  await until('the replica has caught up', async () => (await db.value(reached)) === true)
}

async function ask<T>(url: string, text: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows: found } = await client.query(text)
  await client.end()
  return found as T[]
}

/** Runs the whole operation with a replica in some state; tells what was said of the replica. */
async function run(meanwhile: () => Promise<void> = async () => undefined): Promise<(string | null)[]> {
  await db.query('truncate things')
  await db.query('insert into things select generate_series(1, $1::int)', [rows])
  const said: (string | null)[] = []
  const { sluice, events } = working(db, [finish], { replica: onReplica(db.workerUrl) })
  await using _ = sluice
  sluice.on('replica.used', () => said.push(null))
  sluice.on('replica.skipped', ({ reason }) => said.push(reason))
  await sluice.start()
  await meanwhile()
  await sluice.operations.start(finish)
  const done = await events.event('operation.finished')
  expect(done).toMatchObject({ rowsSeen: rows, rowsChanged: rows })
  expect(await db.value('select count(*)::int from things where done is not true')).toBe(0)
  return said
}

/** How often an index of the table was read on the replica. */
async function scans(): Promise<number> {
  const text = `select coalesce(idx_scan, 0)::int as scans from pg_stat_user_tables where relname = 'things'`
  return (await ask<{ scans: number }>(onReplica(db.url), text))[0]?.scans ?? 0
}

test('looks for batches and for rows that were left go to the replica', async () => {
  const before = await scans()
  // On a busy machine it may be behind for the whole of a short run, which is then read from the primary.
  await until('a run reads from the replica', async () => (await run()).includes(null))
  await until('the replica has counted that its index was read', async () => (await scans()) > before)
})

test('a replica that is behind is not asked, and all rows are met', async () => {
  await caughtUp()
  const goOn = await pair.freeze()
  try {
    const said = await run()
    expect(said).toContain('it has not caught up')
    expect(said).not.toContain(null)
  } finally {
    goOn()
  }
})

test('a replica that stands still is given up after a while', async () => {
  await caughtUp()
  const pids: number[] = []
  try {
    const said = await run(async () => {
      const backends = await ask<{ pid: number }>(onReplica(db.url), 'select pid from pg_stat_activity')
      pids.push(pair.replica.pid, ...backends.map(({ pid }) => pid))
      for (const pid of pids) stopIfThere(pid)
    })
    expect(said).toEqual(['it gives no answer'])
  } finally {
    for (const pid of pids) goOnIfThere(pid)
  }
})

const said = (message: string): object => ({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) })

test('what is no replica of the primary is refused, and says what is wrong', async () => {
  const refusal = async (replica: string): Promise<unknown> => {
    const { sluice } = working(db, [finish], { replica })
    await using _ = sluice
    return await sluice.start().catch((error: unknown) => error)
  }
  expect(await refusal(db.workerUrl)).toMatchObject(said('the server that "replica" names is no replica'))
  const elsewhere = new URL(onReplica(db.url))
  elsewhere.pathname = '/postgres'
  expect(await refusal(elsewhere.href)).toMatchObject(said('"replica" names the database "postgres"'))
  expect(() => new Sluice({ replica: 'mysql://nowhere' })).toThrow('"replica" must be a connection string')
  expect(() => new Sluice({ replcia: 'postgres://nowhere' } as never)).toThrow('Did you mean "replica"?')
})

test('without the replica work starts and goes on', async () => {
  await pair.replica.stop('immediate')
  expect(await run()).toEqual(['it cannot be asked'])
})

function stopIfThere(pid: number): void {
  signal(pid, 'SIGSTOP')
}

function goOnIfThere(pid: number): void {
  signal(pid, 'SIGCONT')
}

/** A backend may have ended meanwhile. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
