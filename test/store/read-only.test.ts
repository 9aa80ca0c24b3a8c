// Connections that lead to a server which cannot write, as in a failover.
import { expect, test } from 'vitest'
import { defineJob, Sluice } from '../../src/index.ts'
import { listenForJobs } from '../../src/store/jobs/listener.ts'
import { listen } from '../../src/store/listen.ts'
import { Pool, type PoolOptions } from '../../src/store/pool.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { jobWorker } from '../support/jobs.ts'
import { setOddly } from '../support/odd-settings.ts'
import { until } from '../support/wait.ts'

const timeouts = { statementMs: 5_000, lockMs: 300, idleInTransactionMs: 5_000 }
const poolOn = (db: TestDatabase, more: Partial<PoolOptions> = {}): Pool =>
  new Pool({ url: db.url, schema: 'sluice', purpose: 'test', size: 1, pooled: false, timeouts, ...more })

/** What a standby looks like to those who connect to it from now on. */
const readOnly = { default_transaction_read_only: 'on' }
const writable = { default_transaction_read_only: 'off' }

/** The session of the test itself cannot undo it while it lasts. */
async function undone(db: TestDatabase): Promise<void> {
  const name = await db.value<string>('select current_database()')
  await db.query(`begin read write; alter database ${name} reset default_transaction_read_only; commit`)
}

const insert = 'insert into t values (1)'
const pid = async (pool: Pool): Promise<unknown> =>
  (await pool.query('select pg_backend_pid() as pid', [])).rows[0]?.['pid']

test.each([false, true])(
  'a session that turns out to be read-only is not used again; behind a pooler: %o',
  async (pooled) => {
    await using db = await testDatabase()
    await db.query('create table t (a int)')
    const pool = poolOn(db, { pooled })
    await pool.alone('set session characteristics as transaction read only', [])
    await expect(pool.query(insert, [])).rejects.toMatchObject({ code: '25006' })
    await pool.query(insert, [])
    await pool.alone('set session characteristics as transaction read only', [])
    await expect(pool.transaction((tx) => tx.query(insert, []))).rejects.toMatchObject({ code: '25006' })
    await pool.transaction((tx) => tx.query(insert, []))
    expect(await db.value('select count(*)::int from t')).toBe(2)
    await pool.end()
  },
)

test('a session that is read-only from the start answers once, so that the next goes to where the server is by then', async () => {
  await using db = await testDatabase()
  await setOddly(db, 'database', readOnly)
  const pool = poolOn(db)
  expect(await pid(pool)).not.toBe(await pid(pool))
  await undone(db)
  const kept = await pid(pool)
  expect(await pid(pool)).toBe(kept)
  await pool.end()
})

test.each([false, true])(
  'a worker does not even read from a server that cannot write; behind a pooler: %o',
  async (pooled) => {
    await using db = await testDatabase()
    await setOddly(db, 'database', readOnly)
    const pool = poolOn(db, { pooled })
    pool.refuseReadOnly()
    const refused = {
      code: 'DATABASE_READ_ONLY',
      message: expect.stringContaining('default_transaction_read_only is on'),
    }
    await expect(pool.query('select 1', [])).rejects.toMatchObject(refused)
    await undone(db)
    expect((await pool.query('select 1 as n', [])).rows).toEqual([{ n: 1 }])
    await pool.end()
  },
)

test('a connection is opened anew after its time', async () => {
  await using db = await testDatabase()
  const pool = poolOn(db, { lifeSeconds: 0.05 })
  const first = await pid(pool)
  await until('another session answers', async () => (await pid(pool)) !== first)
  await pool.end()
})

test('the connection that listens ends when its server cannot write, and after its time', async () => {
  await using db = await testDatabase()
  const options = { url: db.url, schema: 'sluice', purpose: 'listen', timeouts }
  await using ear = await listen(options, 'sluice_jobs', () => undefined)
  await ear.query('set session characteristics as transaction read only', [])
  await expect(ear.query('create table t (a int)', [])).rejects.toMatchObject({ code: '25006' })
  await expect(ear.broken).rejects.toThrow()
  const opened: unknown[] = []
  const over = new AbortController()
  const order = { database: { ...options, workSize: 1 }, telemetry: new Telemetry(), lifeMs: 50 }
  const onOpen = (connection: unknown): void => void opened.push(connection)
  const listening = listenForJobs({ ...order, signal: over.signal, onOpen, onHint: () => undefined })
  await until('another one listens', () => opened.filter((each) => each !== undefined).length > 1)
  over.abort()
  await listening
  expect(opened[1]).toBeUndefined()
})

test('people are told that the database is read-only, and can still look at it', async () => {
  await using db = await testDatabase()
  await setOddly(db, 'role', readOnly)
  const job = defineJob({ name: 'job', perform: () => undefined })
  await using sluice = new Sluice({ database: db.workerUrl, jobs: [job] })
  expect(await sluice.jobs.list()).toMatchObject({ jobs: [] })
  expect((await sluice.doctor()).find(({ check }) => check === 'primary')).toMatchObject({ level: 'problem' })
  await expect(sluice.jobs.enqueue(job)).rejects.toMatchObject({ code: 'DATABASE_READ_ONLY' })
  await expect(sluice.start()).rejects.toMatchObject({ code: 'DATABASE_READ_ONLY' })
  await setOddly(db, 'role', writable)
  await sluice.jobs.enqueue(job)
})

test('a worker whose sessions all become read-only goes on when new ones are not', async () => {
  await using db = await testDatabase()
  const job = defineJob({ name: 'job', perform: () => undefined })
  await using worker = jobWorker(db, [job], {}, { worker: { lease: '3s' } })
  await worker.sluice.start()
  await setOddly(db, 'role', readOnly)
  await db.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'sluice %'`)
  const lost = (purpose: string): boolean =>
    worker.events
      .payloads('connection.lost')
      .some((each) => each.purpose === purpose && /read-only/.test(each.error.message))
  await until('all have met a server that cannot write', () => ['renewal', 'listen'].every(lost))
  await setOddly(db, 'role', writable)
  await worker.events.event('connection.restored')
  await using other = new Sluice({ database: db.workerUrl })
  await other.jobs.enqueue(job)
  await worker.events.event('job.finished')
  const listening = `select count(*)::int from pg_stat_activity
    where datname = current_database() and application_name = 'sluice listen' and state = 'idle'`
  await until('it listens again', async () => (await db.value(listening)) === 1)
})
