import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, inject, test, vi } from 'vitest'
import type { Connection } from '../../src/store/connection.ts'
import { openDatabase } from '../../src/store/database.ts'
import { listen } from '../../src/store/listen.ts'
import { Pool, type PoolOptions } from '../../src/store/pool.ts'
import { signal as gateOf } from '../patterns/inbox/ground.ts'
import { testDatabase } from '../support/database.ts'
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy/index.ts'
import { oddSettings, setOddly } from '../support/odd-settings.ts'
import { until } from '../support/wait.ts'

const timeouts = { statementMs: 500, lockMs: 300, idleInTransactionMs: 700 }

const poolOn = (url: string, more: Partial<PoolOptions> = {}): Pool =>
  new Pool({ url, schema: 'sluice', purpose: 'test', size: 2, pooled: false, timeouts, ...more })

/** A pool whose only connection is in use, on a clock that is set by hand. */
async function heldPool() {
  const pool = poolOn(inject('clusterUrl'), { size: 1 })
  const [held, gate] = [gateOf(), gateOf()]
  const holder = pool.transaction(async () => {
    held.give()
    await gate.given
  })
  await held.given
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  return {
    pool,
    letGo: gate.give,
    async [Symbol.asyncDispose]() {
      vi.useRealTimers()
      gate.give()
      await holder
      await pool.end()
    },
  }
}

async function proxied(): Promise<{ proxy: FaultProxy; url: string }> {
  const upstream = new URL(inject('clusterUrl'))
  const proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  return { proxy, url: proxy.url(inject('clusterUrl')) }
}

test('limits are set on each new session', async () => {
  const pool = poolOn(inject('clusterUrl'))
  const { rows } = await pool.query(
    `select current_setting('statement_timeout') as s, current_setting('lock_timeout') as l,
       current_setting('idle_in_transaction_session_timeout') as i, current_setting('jit') as j`,
    [],
  )
  expect(rows).toEqual([{ s: '500ms', l: '300ms', i: '700ms', j: 'off' }])
  await expect(pool.query('select pg_sleep(5)', [])).rejects.toMatchObject({ code: '57014' })
  await pool.end()
})

test('to wait for a free connection is no failure to connect, however long the driver would wait for a server', async () => {
  await using held = await heldPool()
  const waiting = held.pool.query(`select 'waited' as got`, [])
  await vi.advanceTimersByTimeAsync(30_000)
  vi.useRealTimers()
  held.letGo()
  expect((await waiting).rows).toEqual([{ got: 'waited' }])
})

test('whoever waits for a connection in vain is told which, and that all are in use', async () => {
  await using held = await heldPool()
  const late = held.pool.query('select 1', [])
  const told = expect(late).rejects.toMatchObject({
    code: 'DATABASE_TIMEOUT',
    message: expect.stringContaining('No connection for test became free within 60 s: all 1 are in use.'),
  })
  await vi.advanceTimersByTimeAsync(61_000)
  await told
  vi.useRealTimers()
  const next = held.pool.query(`select 'free' as got`, [])
  held.letGo()
  expect((await next).rows).toEqual([{ got: 'free' }])
})

/** A server that lets in by a way that we do not know, and how many are still on that way. */
async function askingServer(): Promise<{ url: string; left: () => number } & AsyncDisposable> {
  const [sasl, ways] = [10, 'SCRAM-SHA-4096\0\0']
  const question = Buffer.alloc(9)
  question.write('R')
  question.writeInt32BE(8 + ways.length, 1)
  question.writeInt32BE(sasl, 5)
  let open = 0
  const server = createServer((socket) => {
    open += 1
    socket.once('data', () => socket.write(Buffer.concat([question, Buffer.from(ways)])))
    socket.on('error', () => undefined)
    socket.on('close', () => (open -= 1))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `postgres://nobody@127.0.0.1:${(server.address() as AddressInfo).port}/test`
  return { url, left: () => open, [Symbol.asyncDispose]: async () => void server.close() }
}

test('a connection that cannot log in is not left open', async () => {
  await using asking = await askingServer()
  const pool = poolOn(asking.url)
  await expect(pool.query('select 1', [])).rejects.toThrow(/mechanism/)
  await expect(
    listen({ url: asking.url, purpose: 'test', schema: 'sluice', timeouts }, 'news', () => 0),
  ).rejects.toThrow(/mechanism/)
  await until('the server has nobody to wait for', () => asking.left() === 0)
  await pool.end()
})

test('behind a pooler limits go into the transaction and leave nothing in the session', async () => {
  const pool = poolOn(inject('clusterUrl'), { pooled: true, size: 1 })
  const setting = `select current_setting('statement_timeout') as s`
  expect(await pool.transaction(async (tx) => (await tx.query(setting, [])).rows)).toEqual([{ s: '500ms' }])
  expect((await pool.query(setting, [])).rows).toEqual([{ s: '500ms' }])
  expect((await pool.alone(setting, [])).rows).toEqual([{ s: '0' }])
  await pool.end()
})

test.each([false, true])(
  'sessions have our settings, whatever the database says; behind a pooler: %o',
  async (pooled) => {
    await using db = await testDatabase()
    const later = (await db.value<number>(`select current_setting('server_version_num')::int`)) >= 170_000
    const timed = later ? { transaction_timeout: `'20ms'` } : {}
    await setOddly(db, 'database', { ...oddSettings, ...timed, idle_session_timeout: `'1min'`, jit: 'on' })
    const pool = poolOn(db.workerUrl, { pooled, size: 1 })
    const names = [
      'transaction_isolation',
      ...Object.keys(oddSettings),
      ...Object.keys(timed),
      'idle_session_timeout',
      'jit',
    ]
    const text = `select ${names.map((name) => `current_setting('${name}') as "${name}"`).join(', ')}`
    const ours = {
      transaction_isolation: 'read committed',
      default_transaction_isolation: 'read committed',
      datestyle: 'ISO, DMY',
      intervalstyle: 'postgres',
      extra_float_digits: '1',
      bytea_output: 'hex',
      standard_conforming_strings: 'on',
      array_nulls: 'on',
      quote_all_identifiers: 'off',
      lock_timeout: '300ms',
      statement_timeout: '500ms',
      idle_session_timeout: '0',
      jit: 'off',
      ...(later ? { transaction_timeout: '0' } : {}),
      // What belongs to users stays.
      timezone: 'Asia/Kolkata',
      search_path: 'nowhere',
    }
    expect((await pool.query(text, [])).rows).toEqual([ours])
    expect(await pool.transaction(async (tx) => (await tx.query(text, [])).rows)).toEqual([ours])
    expect(await pool.transaction(async (tx) => (await tx.query(text, [])).rows, { lockMs: 200 })).toEqual([
      { ...ours, lock_timeout: '200ms' },
    ])
    await pool.end()
  },
)

test('a handler that makes another isolation the default of its session changes it for nobody else', async () => {
  const pool = poolOn(inject('clusterUrl'), { size: 1 })
  await pool.query('set session characteristics as transaction isolation level serializable', [])
  const text = `select current_setting('transaction_isolation') as level`
  expect(await pool.transaction(async (tx) => (await tx.query(text, [])).rows)).toEqual([{ level: 'read committed' }])
  await pool.end()
})

test('a transaction commits whole or rolls back whole, and its connection is good again', async () => {
  await using db = await testDatabase()
  await db.query('create table t (a int)')
  const pool = poolOn(db.url, { size: 1 })
  await pool.transaction((tx) => tx.query('insert into t values (1)', []))
  const failing = pool.transaction(async (tx) => {
    await tx.query('insert into t values (2)', [])
    throw new TypeError('of the user')
  })
  await expect(failing).rejects.toThrow('of the user')
  await expect(pool.transaction((tx) => tx.query('select 1/0', []))).rejects.toMatchObject({ code: '22012' })
  expect((await pool.query('select a from t', [])).rows).toEqual([{ a: 1 }])
  await pool.end()
})

test('work that goes on after its transaction reaches no connection any more', async () => {
  await using db = await testDatabase()
  await db.query('create table t (a int)')
  const pool = poolOn(db.url, { size: 1 })
  const kept: Connection[] = []
  await pool.transaction(async (tx) => void kept.push(tx))
  await expect(
    pool.transaction(async (tx) => {
      kept.push(tx)
      throw new TypeError('left behind')
    }),
  ).rejects.toThrow('left behind')
  // The only connection is in another transaction by now.
  await pool.transaction(async () => {
    for (const tx of kept) await expect(tx.query('insert into t values (1)', [])).rejects.toThrow('is over')
  })
  expect((await pool.query('select a from t', [])).rows).toEqual([])
  await pool.end()
})

test('an answer that never comes ends in an error, and the socket does not return to the pool', async () => {
  const { proxy, url } = await proxied()
  await using _ = proxy
  const pool = poolOn(url, { size: 1 })
  await pool.query('select 1', [])
  proxy.blackhole('down')
  await expect(pool.query('select 2', [])).rejects.toMatchObject({ code: 'DATABASE_TIMEOUT' })
  proxy.heal()
  expect((await pool.query('select 3 as n', [])).rows).toEqual([{ n: 3 }])
  await pool.end()
})

test('connections that the server ends, idle or busy, do not end the process', async () => {
  await using db = await testDatabase()
  const pool = poolOn(db.url)
  await pool.query('select 1', [])
  const kill = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sluice test' and datname = current_database()`
  await db.query(kill)
  await sleep(100)
  expect((await pool.query('select 2 as n', [])).rows).toEqual([{ n: 2 }])
  const cut = pool.transaction(async (tx) => {
    await db.query(kill)
    await sleep(100)
    return tx.query('select 1', [])
  })
  await expect(cut).rejects.toThrow()
  expect((await pool.query('select 3 as n', [])).rows).toEqual([{ n: 3 }])
  await pool.end()
})

test('a transaction left idle by its owner is ended by the server', async () => {
  const pool = poolOn(inject('clusterUrl'))
  const idle = pool.transaction(async (tx) => {
    await sleep(1_500)
    return tx.query('select 1', [])
  })
  await expect(idle).rejects.toThrow(/idle.in.transaction|terminated|not queryable/)
  await pool.end()
})

test('a database whose connections are all taken is said to be unreachable', async () => {
  const { proxy, url } = await proxied()
  await using _ = proxy
  proxy.answer('53300', { to: 'connect' })
  await expect(openDatabase({ url, schema: 'sluice', timeouts, workSize: 1 })).rejects.toMatchObject({
    code: 'DATABASE_UNREACHABLE',
  })
  await until('the proxy has no links', () => proxy.links.length === 0)
})
