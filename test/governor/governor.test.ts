import { describe, expect, test } from 'vitest'
import { defineOperation, defineProbe, sql, type OperationDefinition, type Probe } from '../../src/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { alone, spawnWorker, testProfile } from '../support/worker.ts'
import { until } from '../support/wait.ts'
import { counters, working } from '../support/working.ts'
import { session } from './bench.ts'

const shape = { name: 'add-one', table: 'counters', batchSize: 100, subBatchSize: 10 }
const addOne = defineOperation({ ...shape, perform: ({ batch }) => batch.update(sql`n = n + 1`) })

/** Looks more often than in production, so that tests need not wait for it. */
const governor = { ...alone, every: '50ms' } as const
const timeouts = { statement: '30s', idleInTransaction: '60s' } as const

/** A signal that a test can set: a number, or an error. Setting it waits until the governor has taken it in. */
function dial(): { probe: Probe; set: (value: number | Error) => Promise<void> } {
  let now: number | Error = 0
  let reads = 0
  const read = (): number => {
    reads += 1
    if (now instanceof Error) throw now
    return now
  }
  const probe = defineProbe({ name: 'dial', title: 'the dial', soft: 10, hard: 100, read })
  const set = async (value: number | Error): Promise<void> => {
    now = value
    const then = reads
    // Before the next reading but one, the first has been judged; three that fail are one that counts.
    await until('the dial has been read', () => reads >= then + (value instanceof Error ? 4 : 2))
  }
  return { probe, set }
}

/** An operation during whose third sub-batch something happens. */
function interrupted(happens: () => Promise<void>, more: { lanes?: number } = {}): OperationDefinition<undefined> {
  let count = 0
  return defineOperation({
    ...shape,
    ...more,
    async perform({ batch }) {
      count += 1
      if (count === 3) await happens()
      return batch.update(sql`n = n + 1`)
    },
  })
}

const exactlyOnce = (db: TestDatabase): Promise<boolean> => db.value('select bool_and(n = 1) from counters')
const status = (db: TestDatabase): Promise<string> => db.value('select status from sluice.operation')
const done = (db: TestDatabase): Promise<number> => db.value('select count(*)::int from counters where n > 0')
const nothingRuns = async (db: TestDatabase): Promise<boolean> =>
  (await db.value<number>(`select count(*)::int from sluice.batch where state = 'running'`)) === 0

describe('a signal beyond its hard limit', () => {
  test('holds the operation with its reason, frees its batch, and lets it go on by itself', async () => {
    await using db = await counters(200)
    const { probe, set } = dial()
    const operation = interrupted(() => set(150))
    const { sluice, events } = working(db, [operation], { governor, timeouts, probes: [probe] })
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(operation)
    const held = await events.event('operation.held')
    expect(held.reason).toMatch(/^the dial is 150, slows from 10, stops at 100, for /)
    await until('its batch is given back', () => nothingRuns(db))
    const before = await done(db)
    expect(before).toBeLessThan(200)
    expect(await sluice.operations.get(id)).toMatchObject({
      state: 'held',
      limitedBy: expect.stringContaining('the dial is 150'),
    })
    await set(9)
    // Below the soft limit, but not by enough to end a hold, also when its time has come.
    await db.query('update sluice.operation set hold_until = clock_timestamp()')
    await events.event('operation.held', { nth: 2 })
    expect(await done(db)).toBe(before)
    await set(1)
    expect((await sluice.operations.wait(id, { everyMs: 20 })).state).toBe('finished')
    expect(await exactlyOnce(db)).toBe(true)
  })

  test('stops all lanes', async () => {
    await using db = await counters(300)
    const { probe, set } = dial()
    const operation = interrupted(() => set(500), { lanes: 3 })
    const { sluice, events } = working(db, [operation], {
      governor,
      timeouts,
      probes: [probe],
      worker: { ...testProfile.worker, concurrency: 3 },
    })
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(operation)
    await events.event('operation.held')
    await until('nothing of it runs', () => nothingRuns(db))
    expect(await done(db)).toBeLessThan(300)
    expect(await status(db)).toBe('held')
    await set(0)
    await sluice.operations.wait(id, { everyMs: 20 })
    expect(await exactlyOnce(db)).toBe(true)
  })
})

test('a signal between its limits slows the work and says so, live', async () => {
  await using db = await counters(200)
  const { probe, set } = dial()
  const said: string[] = []
  const operation: OperationDefinition<undefined> = interrupted(async () => {
    await set(60)
    await events.event('operation.limited')
    await until('the operation says so', async () => {
      const [one] = await sluice.operations.list()
      said.push(one?.limitedBy ?? '')
      return said.at(-1)?.includes('the dial is 60') === true
    })
    await set(0)
  })
  const { sluice, events } = working(db, [operation], { governor, timeouts, probes: [probe] })
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(operation)
  const limited = await events.event('operation.limited')
  expect(limited).toMatchObject({ probe: 'dial', value: 60, soft: 10, hard: 100, name: 'add-one' })
  expect(limited.share).toBeCloseTo((1 - 50 / 90) ** 2, 5)
  expect(await events.event('operation.limited', { nth: 2 })).toMatchObject({ probe: null, share: 1 })
  expect(said.at(-1)).toMatch(/^1 of 1 lane at work; the dial is 60, slows from 10, stops at 100, for /)
  await sluice.operations.wait(id, { everyMs: 20 })
  expect(events.count('operation.held')).toBe(0)
  expect(await exactlyOnce(db)).toBe(true)
})

test('that nothing limits it any more is said again when the answer was lost', async () => {
  await using db = await counters(200)
  const upstream = new URL(db.url)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  const { probe, set } = dial()
  const limiter = (): Promise<unknown> => db.value('select limiter from sluice.operation')
  const operation: OperationDefinition<undefined> = interrupted(async () => {
    await set(60)
    await events.event('operation.limited')
    // The statement never comes to the server: only who says it again takes back what stands there.
    const cut = proxy.answer('57P01', { to: /set limiter/, times: 1 })
    await set(0)
    await until('the statement was lost', () => cut.hits === 1)
    await until('nothing limits it any more', async () => (await limiter()) === null)
  })
  const database = proxy.url(db.workerUrl)
  const { sluice, events } = working(db, [operation], { database, governor, timeouts, probes: [probe] })
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(operation)
  expect(await events.event('operation.limited', { nth: 2 })).toMatchObject({ probe: null, share: 1 })
  await sluice.operations.wait(id, { everyMs: 20 })
  expect(await exactlyOnce(db)).toBe(true)
})

const never = (): never => {
  throw new Error('never')
}

test('a budget that cannot be read any more stops the work, and a gauge does not', async () => {
  await using db = await counters(200)
  const { probe, set } = dial()
  const frozen = defineProbe({ name: 'frozen', soft: 1, hard: 2, unknown: 'freeze', read: never })
  const operation = interrupted(() => set(new Error('no route to host')))
  const { sluice, events } = working(db, [operation], { governor, timeouts, probes: [probe, frozen] })
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(operation)
  const held = await events.event('operation.held')
  expect(held.reason).toContain('the dial cannot be read any more')
  expect(events.all).toContainEqual({
    event: 'warning',
    payload: { message: 'The probe for the dial failed: no route to host' },
  })
  await set(0)
  await sluice.operations.wait(id, { everyMs: 20 })
  expect(await exactlyOnce(db)).toBe(true)
})

test('a hold of a process that died ends at its time, and another process goes on', async () => {
  await using db = await counters(200)
  const operations = `
const operations = [defineOperation({
  name: 'add-one', table: 'counters', batchSize: 500, subBatchSize: 10,
  perform: ({ batch }) => batch.update(sql\`n = n + 1\`),
})]`
  const patterns = `
import { readFileSync } from 'node:fs'
import { defineProbe } from '${new URL('../../dist/index.js', import.meta.url).href}'
const patterns = { governor: { every: '50ms' }, probes: [defineProbe({ name: 'flag', soft: 1, hard: 2, read: () => 5 })] }`
  {
    await using first = await spawnWorker({ url: db.workerUrl, operations, patterns })
    const { sluice } = working(db, [addOne])
    await sluice.operations.start(addOne)
    await sluice.stop()
    await first.events.event('operation.held')
    expect(['held', 'queued']).toContain(await status(db))
    first.kill('SIGKILL')
    await first.exited
  }
  const { sluice } = working(db, [addOne], { governor })
  await using _ = sluice
  // The time that is written down with the hold, brought near.
  await db.query('update sluice.operation set hold_until = clock_timestamp()')
  await sluice.start()
  await until('it is over', async () => (await db.value<number>('select count(*)::int from sluice.operation')) === 0)
  expect(await exactlyOnce(db)).toBe(true)
})

test('our sessions make others wait no longer than the time limit for locks', async () => {
  await using db = await counters(200)
  const { sluice, events } = working(db, [addOne], { governor, timeouts: { lock: '300ms', statement: '3s' } })
  await using _ = sluice
  await using report = await session(db.url, 'report')
  await report.query('begin; lock table counters in share mode')
  await sluice.start()
  const { id } = await sluice.operations.start(addOne)
  const waits = `select count(*)::int from pg_locks where not granted and relation = 'counters'::regclass`
  await until('we wait for the report', async () => (await db.value<number>(waits)) > 0)
  // Compatible with the report, and behind us in the queue: it gets its lock while the report still has its own.
  await using third = await session(db.url, 'migration')
  await third.query(`set lock_timeout = '20s'`)
  await third.query('begin; lock table counters in share mode; commit')
  expect(
    await db.value(
      `select count(*)::int from pg_locks where granted and mode = 'ShareLock' and relation = 'counters'::regclass`,
    ),
  ).toBe(1)
  await events.event('batch.retried')
  await report.query('commit')
  await sluice.operations.wait(id, { everyMs: 20 })
  expect(await exactlyOnce(db)).toBe(true)
})

test('a vacuum of the table slows the work and does not stop it', async () => {
  await using db = await counters(200)
  const { sluice, events } = working(db, [addOne], { governor })
  await using _ = sluice
  await using cleaner = await session(db.url, 'vacuum')
  await cleaner.query('begin; lock table counters in share update exclusive mode')
  await sluice.start()
  const { id } = await sluice.operations.start(addOne)
  expect(await events.event('operation.limited')).toMatchObject({ probe: 'vacuum', share: expect.closeTo(0.49, 2) })
  expect((await sluice.operations.wait(id, { everyMs: 20 })).state).toBe('finished')
  expect(events.count('operation.held')).toBe(0)
})

test('what a role cannot see is said once, with the SQL that lets it', async () => {
  await using db = await counters(100)
  const { sluice, events } = working(db, [addOne], { governor })
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(addOne)
  await sluice.operations.wait(id, { everyMs: 20 })
  const remedy = 'grant pg_read_all_stats to test_worker;'
  const blind = events.all.flatMap(({ event, payload }) => (event === 'probe.blind' ? [payload] : []))
  expect(blind.map(({ probe }) => probe).toSorted()).toEqual(['replicaBytes', 'replicaLag'])
  expect(blind.every((one) => one.remedy === remedy)).toBe(true)
  const findings = (await sluice.doctor()).filter(({ check }) => check === 'health signals')
  expect(findings[0]).toMatchObject({ level: 'ok', found: expect.stringContaining('sessions that wait for our locks') })
  expect(findings.slice(1)).toMatchObject([{ remedy }, { remedy }])
})
