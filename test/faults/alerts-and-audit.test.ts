// Processes that die, and answers that are lost, around samples, alerts, switches and the audit.
import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { defineJob, Sluice, type SluiceConfig } from '../../src/index.ts'
import { openDatabase } from '../../src/store/database.ts'
import { writeSamples, type Counts } from '../../src/store/samples.ts'
import { cert, key } from '../observe/alerts/certificate.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy/index.ts'
import { openClient } from '../support/jobs.ts'
import { until } from '../support/wait.ts'
import { builtPackage } from '../support/worker.ts'

const noop = defineJob({ name: 'noop', queue: 'mail', perform: () => undefined })
const ada = { actor: 'ada', reason: 'because' } as const

/** A process of its own that runs a script with a `sluice` at hand; it is gone after the test. */
function processOf(
  config: SluiceConfig,
  script: string,
): { child: ChildProcess; ended: Promise<unknown> } & Disposable {
  const code = `import { Sluice } from '${new URL('index.js', builtPackage).href}'
    const sluice = new Sluice(${JSON.stringify(config)})
    ${script}
    await sluice.stop()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  return { child, ended, [Symbol.dispose]: () => void child.kill('SIGKILL') }
}

/** Whoever writes to a table waits until the gate is opened. */
async function gateAt(
  db: TestDatabase,
  table: string,
): Promise<{ open: () => Promise<void>; waiting: () => Promise<number> }> {
  await db.query(`create function wait_at_gate() returns trigger language plpgsql security definer as
    $$ begin perform pg_advisory_xact_lock_shared(4711); return new; end $$`)
  await db.query(`create trigger gate before insert on sluice.${table} for each row execute function wait_at_gate()`)
  const holder = await openClient(db.url)
  await holder.query('select pg_advisory_lock(4711)')
  const waiters = `select count(*)::int from pg_locks l join pg_database d on d.oid = l.database
    where locktype = 'advisory' and objid = 4711 and not granted and d.datname = current_database()`
  return { open: () => holder.end(), waiting: () => db.value<number>(waiters) }
}

/** No session of a worker is in a transaction any more. */
const atRest = (db: TestDatabase) => async (): Promise<boolean> =>
  (await db.value<number>(`select count(*)::int from pg_stat_activity where datname = current_database()
    and pid <> pg_backend_pid() and (xact_start is not null or state = 'active') and backend_type = 'client backend'`)) ===
  0

async function proxied(db: TestDatabase, url = db.workerUrl): Promise<{ proxy: FaultProxy; url: string }> {
  const { hostname: host, port } = new URL(url)
  const proxy = await startFaultProxy({ host, port: Number(port) })
  return { proxy, url: proxy.url(url) }
}

test('a process that dies after it has told of an alert: it is told again with the same id, and then no more', async () => {
  await using db = await testDatabase()
  const ids: string[] = []
  let dying: ChildProcess | undefined
  const server = createServer({ key, cert }, (request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      ids.push((JSON.parse(body) as { id: string }).id)
      dying?.kill('SIGKILL')
      // Who is dead by now does not get it.
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `https://localhost:${(server.address() as AddressInfo).port}/`
  const webhook = { url, secret: 'a secret of some length', allow: ['localhost'], private: true, ca: cert }
  const config = { database: db.workerUrl, alerts: { queues: { all: { depth: 10 } }, webhook } } satisfies SluiceConfig
  await db.query(`insert into sluice.queue_sample_10s (queue, at, depth) values ('mail', now(), 50)`)
  using judging = processOf(config, 'for (;;) await sluice.alerts.judge()')
  dying = judging.child
  await judging.ended
  expect(ids).toHaveLength(1)
  expect(await db.query('select firing, told_at from sluice.alert')).toEqual([{ firing: true, told_at: null }])
  await using other = new Sluice(config)
  // Until a minute is over it may still be telling.
  await other.alerts.judge()
  expect(ids).toHaveLength(1)
  await db.query(`update sluice.alert set telling_at = telling_at - interval '2 minutes'`)
  await db.query(`update sluice.queue_sample_10s set at = now()`)
  for (let look = 0; look < 3; look++) await other.alerts.judge()
  expect(ids).toHaveLength(2)
  expect(new Set(ids).size).toBe(1)
  await new Promise((resolve) => server.close(resolve))
})

/** An hour of samples that nobody has summed up yet. */
async function unsummed(): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(`select sluice.create_partition(p, (now() at time zone 'UTC')::date - 1, 1)
    from unnest(array['queue_sample_10s', 'operation_sample_10s', 'signal_sample_10s']) p`)
  await db.query(`select sluice.create_partition('queue_sample_' || s, date_trunc('week', now() at time zone 'UTC') - interval '7 days', 7)
    from unnest(array['1m', '1h']) s`)
  await db.query(`insert into sluice.queue_sample_10s (queue, at, enqueued, wait)
    select 'mail', date_trunc('hour', now() - interval '2 minutes', 'UTC') - interval '1 hour' + n * interval '10 seconds', 2, '{1}'
    from generate_series(0, 359) n`)
  await db.query(`update sluice.sample_clock
    set rolled_1m = now() - interval '3 hours', rolled_1h = now() - interval '3 hours', taken_to = now() - interval '1 minute'`)
  return db
}

const enqueuedIn = (span: string, where: string): string =>
  `(select coalesce(sum(enqueued), 0)::int from sluice.queue_sample_${span} where ${where})`

/** What is summed up, and what was written meanwhile. */
async function sums(db: TestDatabase): Promise<unknown> {
  const [row] = await db.query(`select ${enqueuedIn('1m', 'true')} as minutes, ${enqueuedIn('1h', 'true')} as hours,
    ${enqueuedIn('10s', `at > now() - interval '1 minute'`)} as present, (select count(*)::int from sluice.sample_mark) as marks`)
  return row
}

describe('a roll-up of samples', () => {
  const counts: Counts = {
    queues: [{ queue: 'mail', enqueued: 5, started: 0, finished: 0, failed: 0, died: 0, wait: [1, 2], run: [] }],
    operations: [],
    signals: [],
  }
  const timeouts = { statementMs: 60_000, lockMs: 60_000, idleInTransactionMs: 60_000 }
  const connect = (url: string) => openDatabase({ url, schema: 'sluice', workSize: 1, timeouts })

  const whole = { minutes: 720, hours: 720, present: 5, marks: 1 }

  test('that is cut off in the middle has done nothing, and the next one does it', async () => {
    await using db = await unsummed()
    const gate = await gateAt(db, 'queue_sample_1h')
    await using database = await connect(db.workerUrl)
    const order = { workerId: randomUUID(), number: 1, counts }
    const first = writeSamples(database.control, order).catch((error: unknown) => error)
    await until('it is in the middle', async () => (await gate.waiting()) === 1)
    await db.query(
      `select pg_terminate_backend(l.pid) from pg_locks l where locktype = 'advisory' and objid = 4711 and not granted`,
    )
    expect(await first).toMatchObject({ code: '57P01' })
    await gate.open()
    expect(await sums(db)).toEqual({ minutes: 0, hours: 0, present: 0, marks: 0 })
    await writeSamples(database.control, order)
    expect(await sums(db)).toEqual(whole)
  })

  test('whose process is killed in the middle is summed up once, by whoever ends it', async () => {
    await using db = await unsummed()
    const gate = await gateAt(db, 'queue_sample_1h')
    using dying = processOf({ database: db.workerUrl }, 'await sluice.alerts.check()')
    await until('it is in the middle', async () => (await gate.waiting()) === 1)
    dying.child.kill('SIGKILL')
    await dying.ended
    await gate.open()
    await until('the server is done with it', atRest(db))
    await using database = await connect(db.workerUrl)
    await db.query(`update sluice.sample_clock set taken_to = taken_to - interval '1 minute'`)
    await writeSamples(database.control, { workerId: randomUUID(), number: 1, counts })
    expect(await sums(db)).toMatchObject({ minutes: 720, hours: 720, present: 5 })
  })

  test('whose answer is lost is not written again', async () => {
    await using db = await unsummed()
    const { proxy, url } = await proxied(db)
    await using _ = proxy
    const lost = proxy.dropAnswerTo(/write_samples/, { ending: 'rst', times: 1 })
    await using database = await connect(url)
    const order = { workerId: randomUUID(), number: 1, counts }
    await expect(writeSamples(database.control, order)).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' })
    expect(lost.hits).toBe(1)
    await writeSamples(database.control, order)
    expect(await sums(db)).toEqual(whole)
  })
})

async function withJob(): Promise<TestDatabase> {
  const db = await testDatabase()
  await using sluice = new Sluice({ database: db.url })
  await sluice.jobs.enqueue(noop)
  return db
}

describe('an act and its row in the audit', () => {
  /** What verbs do, and how it shows. */
  const verbs = [
    ['queues.pause', (sluice: Sluice) => sluice.queues.pause('mail', ada), 'select paused from sluice.queue'],
    [
      'jobs.cancel',
      async (sluice: Sluice) => sluice.jobs.cancel((await sluice.jobs.list()).jobs[0]?.id ?? 0, ada),
      `select exists (select from sluice.job_dead where outcome = 'cancelled')`,
    ],
    [
      'operations.disableAll',
      (sluice: Sluice) => sluice.operations.disableAll(ada),
      'select exists (select from sluice.standstill)',
    ],
  ] as const

  test.each(verbs)('%s: both are there when the answer to COMMIT is lost', async (_, act, done) => {
    await using db = await withJob()
    const { proxy, url } = await proxied(db, db.url)
    await using _proxy = proxy
    await using sluice = new Sluice({ database: url })
    // Connected, and what is looked at first has been.
    await sluice.jobs.list()
    const audited = () => db.value<number>('select count(*)::int from sluice.audit')
    const recorded = proxy.dropAnswerTo(/^commit$/i, { ending: 'rst', times: 1 })
    await expect(act(sluice)).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' })
    expect(recorded.hits).toBe(1)
    expect([await db.value(done), await audited()]).toEqual([true, 1])
  })

  test.each(verbs)('%s: neither is there when the connection is cut before COMMIT', async (_, act, done) => {
    await using db = await withJob()
    const { proxy, url } = await proxied(db, db.url)
    await using _proxy = proxy
    await using sluice = new Sluice({ database: url })
    const cut = proxy.dropAnswerTo(/record_act/, { ending: 'rst', times: 1 })
    await expect(act(sluice)).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' })
    expect(cut.hits).toBe(1)
    await until('the server is done with it', atRest(db))
    expect([await db.value(done), await db.value('select count(*)::int from sluice.audit')]).toEqual([false, 0])
    await act(sluice)
    expect([await db.value(done), await db.value('select count(*)::int from sluice.audit')]).toEqual([true, 1])
  })

  test('neither is there when the process is killed between them', async () => {
    await using db = await withJob()
    const gate = await gateAt(db, 'audit')
    using dying = processOf({ database: db.url }, `await sluice.queues.pause('mail')`)
    await until('it is in the middle', async () => (await gate.waiting()) === 1)
    dying.child.kill('SIGKILL')
    await dying.ended
    await gate.open()
    await until('the server is done with it', atRest(db))
    expect(await db.value('select paused from sluice.queue')).toBe(false)
    expect(await db.value('select count(*)::int from sluice.audit')).toBe(0)
  })
})

test('who lost the answer to a standstill can say it again, or ask whether it holds', async () => {
  await using db = await testDatabase()
  const { proxy, url } = await proxied(db, db.url)
  await using _ = proxy
  await using sluice = new Sluice({ database: url })
  expect(await sluice.operations.standstill()).toBeUndefined()
  proxy.dropAnswerTo(/^commit$/i, { ending: 'rst', times: 1 })
  const stop = () => sluice.operations.disableAll({ ...ada, expectedState: 'enabled' })
  await expect(stop()).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' })
  const held = await sluice.operations.standstill()
  expect(held).toMatchObject({ actor: 'ada', reason: 'because' })
  await expect(stop()).rejects.toMatchObject({ code: 'STATE_CHANGED', details: { state: 'disabled' } })
  expect((await sluice.operations.disableAll(ada)).since).toEqual(held?.since)
  expect(await sluice.operations.enableAll({ ...ada, expectedState: 'disabled' })).toBe(true)
  expect(await sluice.operations.standstill()).toBeUndefined()
})
