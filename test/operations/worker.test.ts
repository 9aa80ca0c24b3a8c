import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { defineOperation, sql } from '../../src/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { rescue } from '../../src/store/batches.ts'
import { openClient } from '../support/jobs.ts'
import { until } from '../support/wait.ts'
import { testProfile } from '../support/worker.ts'
import { counters, working } from '../support/working.ts'

const increment = { name: 'increment', table: 'counters', batchSize: 500, subBatchSize: 100 } as const
const addOne = defineOperation({ ...increment, perform: ({ batch }) => batch.update(sql`n = n + 1`) })
const wrong = (db: TestDatabase): Promise<number> => db.value('select count(*)::int from counters where n <> 1')

test('a batch offers delete, update, rows, query, its window and a signal, all in one transaction', async () => {
  await using db = await counters(1_000)
  await db.query('create table archive (id bigint)')
  const seen: number[] = []
  const archive = defineOperation({
    ...increment,
    scope: () => sql`id % 2 = 0`,
    async perform({ batch }) {
      const rows = await batch.rows<{ id: string }>(sql`id <= 500`)
      seen.push(...rows.map(({ id }) => Number(id)))
      await batch.query(sql`insert into archive select id from counters where ${batch.window} and id > 900`)
      await batch.update(sql`n = ${7}`, sql`id > 500 and id <= 900`)
      expect(batch.signal.aborted).toBe(false)
      const [at] = await batch.query<{ same: boolean }>(
        sql`select pg_current_xact_id_if_assigned() is not null as same`,
      )
      expect(at?.same).toBe(true)
      await batch.delete(sql`id > 900`)
    },
  })
  const { sluice, events } = working(db, [archive])
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(archive)
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 1_000, rowsChanged: 200 + 50 })
  expect(seen).toEqual(Array.from({ length: 250 }, (_row, i) => 2 * (i + 1)))
  expect(await db.value('select count(*)::int from archive')).toBe(50)
  expect(await db.value('select count(*)::int from counters where n = 7')).toBe(200)
  expect(await db.value('select count(*)::int from counters where id > 900')).toBe(50)
})

test('an operation on an empty table finishes', async () => {
  await using db = await counters(0)
  const { sluice, events } = working(db, [addOne])
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(addOne)
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 0, batches: 0 })
})

test('several lanes in several processes share an operation without sharing a row', async () => {
  await using db = await counters(20_000)
  const wide = defineOperation({ ...increment, lanes: 4, perform: ({ batch }) => batch.update(sql`n = n + 1`) })
  const wideProfile = { worker: { ...testProfile.worker, concurrency: 2 } }
  const [first, second] = [working(db, [wide], wideProfile), working(db, [wide], wideProfile)]
  await Promise.all([first.sluice.start(), second.sluice.start()])
  const { id } = await first.sluice.operations.start(wide)
  await first.sluice.operations.wait(id, { everyMs: 50 })
  expect(await wrong(db)).toBe(0)
  expect(await db.value('select count(distinct worker_id)::int from sluice.batch_history')).toBe(2)
  expect(await db.value('select rows_changed::int from sluice.operation_history')).toBe(20_000)
  await Promise.all([first.sluice.stop(), second.sluice.stop()])
})

test('a stop lets the sub-batch end, gives the batch back, and another worker goes on at its checkpoint', async () => {
  await using db = await counters(2_000)
  const slow = defineOperation({
    ...increment,
    async perform({ batch }) {
      await sleep(30)
      return batch.update(sql`n = n + 1`)
    },
  })
  const first = working(db, [slow])
  await first.sluice.start()
  await first.sluice.operations.start(slow)
  await first.events.event('sub-batch.committed', { nth: 3 })
  await first.sluice.stop()
  expect(first.events.count('batch.released')).toBe(1)
  expect(await db.query('select state, crashes, errors from sluice.batch')).toEqual([
    { state: 'ready', crashes: 0, errors: 0 },
  ])
  expect(await db.value('select count(*)::int from sluice.worker')).toBe(0)

  const second = working(db, [slow])
  await second.sluice.start()
  await second.events.event('operation.finished')
  expect(second.events.all.find(({ event }) => event === 'batch.started')?.payload).toMatchObject({ resumed: true })
  expect(await wrong(db)).toBe(0)
  await second.sluice.stop()
})

test('an operation that no running worker knows waits and harms nobody', async () => {
  await using db = await counters(100)
  const stranger = defineOperation({
    ...increment,
    name: 'stranger',
    perform: ({ batch }) => batch.update(sql`n = 99`),
  })
  const { sluice, events } = working(db, [addOne])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(stranger)
  await sluice.operations.start(addOne)
  await events.event('operation.finished')
  expect(await wrong(db)).toBe(0)
  expect(await sluice.operations.get(id)).toMatchObject({
    state: 'queued',
    parked: true,
    limitedBy: 'parked: no running worker knows it',
  })
})

describe('errors', () => {
  test('in one row isolate that row, and all others are done', async () => {
    await using db = await counters(3_000)
    const picky = defineOperation({
      ...increment,
      async perform({ batch }) {
        const changed = await batch.update(sql`n = n + 1`)
        const [bad] = await batch.rows<{ id: string }>(sql`id = 251`)
        if (bad !== undefined) throw new RangeError(`cannot take row ${bad.id}`)
        return changed
      },
    })
    const { sluice, events } = working(db, [picky])
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(picky)
    expect(await events.event('operation.finished')).toMatchObject({ rowsChanged: 2_999, rowsQuarantined: 1 })
    expect(await sluice.operations.get(id)).toMatchObject({
      state: 'finished_with_quarantine',
      rowsSeen: 3_000,
      rowsMatched: 3_000,
      rowsSkipped: 0,
    })
    expect(await sluice.operations.quarantined(id)).toMatchObject([
      { rows: 1, upper_key: ['251'], error: { name: 'RangeError', message: 'cannot take row 251' } },
    ])
    expect(await db.query('select id::int from counters where n <> 1')).toEqual([{ id: 251 }])
    // Halving 100 rows down to one, and two more tries of that one.
    expect(events.count('batch.retried')).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(100)))
  })

  test('in row after row trip the breaker: it pauses with the reason, and goes on when the code is mended', async () => {
    await using db = await counters(1_000)
    let broken = true
    const buggy = defineOperation({
      ...increment,
      async perform({ batch }) {
        if (broken) throw new TypeError('x is not a function')
        return batch.update(sql`n = n + 1`)
      },
    })
    const { sluice, events } = working(db, [buggy])
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(buggy)
    expect((await events.event('operation.paused')).reason).toMatch(/^5 rows in a row failed .* x is not a function$/)
    await until('it is paused', async () => (await sluice.operations.get(id)).state === 'paused')
    expect(await sluice.operations.get(id)).toMatchObject({ rowsQuarantined: 5, rowsChanged: 0 })
    broken = false
    await sluice.operations.resume(id)
    await events.event('operation.finished')
    expect(await db.value('select count(*)::int from counters where n = 1')).toBe(995)
    await sluice.operations.retry(id)
    expect((await sluice.operations.wait(id, { everyMs: 50 })).state).toBe('finished')
    expect(await wrong(db)).toBe(0)
    expect(await db.value(`select rows_changed::int from sluice.operation_summary`)).toBe(1_000)
  })

  test('that can never be cured fail it at once', async () => {
    await using db = await counters(1_000)
    const wrongColumn = defineOperation({ ...increment, perform: ({ batch }) => batch.update(sql`colour = 1`) })
    const { sluice, events } = working(db, [wrongColumn])
    await using _ = sluice
    await sluice.start()
    await sluice.operations.start(wrongColumn)
    expect(await events.event('operation.failed')).toMatchObject({ error: { code: '42703' } })
    expect(events.count('batch.retried')).toBe(0)
  })

  test('from a role that may not change the table fail it at once', async () => {
    await using db = await counters(10)
    await db.query('revoke update on counters from test_worker')
    const { sluice, events } = working(db, [addOne])
    await using _ = sluice
    await sluice.start()
    await sluice.operations.start(addOne)
    expect(await events.event('operation.failed')).toMatchObject({ error: { code: '42501' } })
  })

  test('a table that vanishes fails the operation, not the worker', async () => {
    await using db = await counters(10_000)
    const { sluice, events } = working(db, [addOne])
    await using _ = sluice
    await sluice.operations.start(addOne)
    await db.query('alter table counters rename to gone')
    await sluice.start()
    expect(await events.event('operation.failed')).toMatchObject({ error: { code: 'TABLE_NOT_FOUND' } })
    await db.query('alter table gone rename to counters')
    await sluice.operations.start(addOne)
    await events.event('operation.finished')
    expect(await wrong(db)).toBe(0)
  })

  test('args that no longer fit the code fail it before a row is touched', async () => {
    await using db = await counters(10)
    const { sluice, events } = working(db, [addOne])
    await using _ = sluice
    await sluice.operations.start(addOne)
    await db.query(`update sluice.operation set args = '{"old": true}'`)
    await sluice.start()
    expect(await events.event('operation.failed')).toMatchObject({ error: { code: 'ARGS_INVALID' } })
    expect(await db.value('select count(*)::int from counters where n > 0')).toBe(0)
  })

  test('by a lock in the way are met with smaller sub-batches until it is gone', async () => {
    await using db = await counters(1_000)
    const { sluice, events } = working(db, [addOne], { timeouts: { ...testProfile.timeouts, lock: '100ms' } })
    await using _ = sluice
    const { default: pg } = await import('pg')
    const other = new pg.Client({ connectionString: db.url })
    await other.connect()
    await other.query('begin; update counters set n = n where id = 150')
    await sluice.start()
    await sluice.operations.start(addOne)
    await events.event('batch.retried', { nth: 2 })
    await other.query('rollback')
    await other.end()
    expect(await events.event('operation.finished')).toMatchObject({ rowsChanged: 1_000 })
    expect(await wrong(db)).toBe(0)
  })

  test('of a database that lacks something hold the operation, and it goes on by itself', async () => {
    await using db = await counters(1_000)
    await db.query(`create function full_disk() returns trigger language plpgsql as
      $$ begin raise exception 'could not extend file' using errcode = '53100'; end $$`)
    await db.query('create trigger full_disk before update on counters execute function full_disk()')
    const { sluice, events } = working(db, [addOne])
    await using _ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(addOne)
    expect(await events.event('operation.held')).toMatchObject({ reason: 'could not extend file' })
    expect((await sluice.operations.get(id)).limitedBy).toMatch(/^held for .* could not extend file$/)
    await db.query('drop trigger full_disk on counters')
    expect(await db.query('select state, errors from sluice.batch')).toEqual([{ state: 'ready', errors: 0 }])
    await db.query('update sluice.operation set hold_until = now()')
    await db.query('update sluice.batch set ready_at = now()')
    await events.event('operation.finished')
    expect(await wrong(db)).toBe(0)
  })
})

test('a handler that blocks the event loop for longer than its lease keeps it: a thread renews', async () => {
  await using db = await counters(100)
  const blocking = defineOperation({
    ...increment,
    async perform({ batch }) {
      const changed = await batch.update(sql`n = n + 1`)
      const end = Date.now() + 2_500
      while (Date.now() < end);
      return changed
    },
  })
  const busy = working(db, [blocking], { timeouts: { ...testProfile.timeouts, idleInTransaction: '10s' } })
  const other = working(db, [])
  await using _ = other.sluice
  await other.sluice.start()
  await busy.sluice.start()
  await busy.sluice.operations.start(blocking)
  await busy.events.event('operation.finished')
  await busy.sluice.stop()
  expect(other.events.count('batch.rescued')).toBe(0)
  expect(busy.events.count('batch.lost')).toBe(0)
  expect(await wrong(db)).toBe(0)
})

test('a handler that hangs loses its lease, its signal aborts, and nothing of it is committed', async () => {
  await using db = await counters(100)
  let hang = true
  let aborted = false
  const hanging = defineOperation({
    ...increment,
    async perform({ batch }) {
      if (!hang) return batch.update(sql`n = n + 1`)
      hang = false
      // Touches no row and holds no lock but the claim's; the server ends the idle transaction.
      await new Promise<void>((resolve) => {
        batch.signal.addEventListener('abort', () => {
          aborted = true
          resolve()
        })
      })
      return batch.update(sql`n = n + 100`)
    },
  })
  const first = working(db, [hanging], {
    worker: { ...testProfile.worker, noProgress: '1s' },
    timeouts: { ...testProfile.timeouts, idleInTransaction: '1s' },
  })
  const second = working(db, [hanging])
  await first.sluice.start()
  const { id } = await first.sluice.operations.start(hanging)
  await until('the handler hangs', () => !hang)
  await second.sluice.start()
  // Either may take it up again: the first is free, too, once its signal has aborted.
  await second.sluice.operations.wait(id, { everyMs: 50 })
  await until('the signal aborts', () => aborted)
  await until('the first has noticed', () => first.events.count('batch.lost') > 0)
  expect(first.events.count('batch.lost')).toBe(1)
  expect(await wrong(db)).toBe(0)
  await Promise.all([first.sluice.stop(), second.sluice.stop()])
})

test('a holder that was cut off and not dead takes back the crash that its rescue has counted', async () => {
  await using db = await counters(100)
  let [calls, open] = [0, (): void => undefined]
  const gate = new Promise<void>((resolve) => (open = resolve))
  const gated = defineOperation({
    ...increment,
    effects: 'external',
    perform: async () => {
      calls += 1
      await gate
    },
  })
  const { sluice, events } = working(db, [gated], { worker: { ...testProfile.worker, noProgress: '5m' } })
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(gated)
  await until('the handler runs', () => calls > 0)
  await using other = await openClient(db.url)
  // In one transaction: no renewal comes between.
  await other.query('begin')
  await other.query(`update sluice.batch set lease_until = now() - interval '1 minute'`)
  const rescued = await rescue({ schema: 'sluice', query: (text, values) => other.query(text, values) }, undefined)
  expect(rescued).toMatchObject([{ crashes: 1 }])
  await other.query('commit')
  open()
  await events.event('batch.lost')
  await until(
    'it has said so',
    async () => (await db.value('select count(*)::int from sluice.batch where crashes > 0')) === 0,
  )
  await events.event('operation.finished')
  expect(await db.value('select max(crashes) from sluice.batch_history')).toBe(0)
})

test('stretches without a row in scope are passed over in ever wider windows, and none in scope is missed', async () => {
  await using db = await counters(20_000)
  const sparse = defineOperation({
    ...increment,
    name: 'sparse',
    batchSize: 20_000,
    subBatchSize: 50,
    scope: () => sql`id in (7, 9000, 9001, 19999) or id between 15000 and 15400`,
    perform: ({ batch }) => batch.update(sql`n = n + 1`),
  })
  const { sluice, events } = working(db, [sparse])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(sparse)
  await events.event('operation.finished')
  expect(await sluice.operations.get(id)).toMatchObject({ rowsSeen: 20_000, rowsMatched: 405, rowsChanged: 405 })
  expect(await db.value('select count(*)::int from counters where n = 1')).toBe(405)
  expect(await db.value('select count(*)::int from counters where n > 1')).toBe(0)
  // 400 windows of 50 rows without looking ahead; never more than 50 rows changed at once.
  const commits = events.all.flatMap((e) => (e.event === 'sub-batch.committed' ? [e.payload] : []))
  expect(commits.length).toBeLessThan(100)
  expect(Math.max(...commits.map(({ rowsChanged }) => rowsChanged))).toBeLessThanOrEqual(50)
})
