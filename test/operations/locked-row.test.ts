// A row that somebody else has locked: the others are not kept from the application, and nothing counts against it.
import sql from 'sql-template-tag'
import { expect, test } from 'vitest'
import { backfill, defineOperation } from '../../src/index.ts'
import { recover } from '../../src/operations/recover.ts'
import { runBatch } from '../../src/operations/batch-loop.ts'
import type { TestDatabase } from '../support/database.ts'
import { openClient } from '../support/jobs.ts'
import { isWaiting } from '../support/locks.ts'
import { until } from '../support/wait.ts'
import { counters, patient, working } from '../support/working.ts'
import { claimFirst, begunOf } from './claimed.ts'

const shape = { name: 'count', table: 'counters', batchSize: 100, subBatchSize: 50 } as const
const addOne = defineOperation({ ...shape, perform: ({ batch }) => batch.update(sql`n = n + 1`) })
const addByPreset = backfill({ ...shape, set: { n: sql`n + 1` }, verify: false })
const locked = 30
const wrong = 'select count(*)::int from counters where n <> 1'
const othersFree = `select count(*)::int from (select from counters where id <> ${locked} for update skip locked) free`

async function lockRow(db: TestDatabase): ReturnType<typeof openClient> {
  const client = await openClient(db.url)
  await client.query('begin')
  await client.query(`select from counters where id = ${locked} for update`)
  return client
}

test.each([
  ['in one statement', addByPreset],
  ['in a transaction', addOne],
])(
  'a sub-batch %s gives its rows back when one is locked, until it waits for that row alone',
  async (_, definition) => {
    await using db = await counters(100)
    // The limit of its sessions is a minute.
    await using claimed = await claimFirst(db, definition)
    await using holder = await lockRow(db)
    const done = runBatch(claimed.run)
    const before = (): Promise<string[] | null> => db.value('select checkpoint from sluice.batch')
    await until('all rows before it are done', async () => (await before())?.[0] === String(locked - 1), 20_000)
    await until('the row is waited for', () => isWaiting(db))
    expect(await db.value(othersFree)).toBe(99)
    await holder.query('rollback')
    await done
    expect(await db.value(wrong)).toBe(0)
    expect(claimed.events.payloads('batch.finished')).toMatchObject([{ rowsSeen: 100, rowsChanged: 100 }])
    const met = new Set(claimed.events.payloads('batch.retried').map(({ error }) => error.code))
    expect([...met]).toEqual(['55P03'])
    expect(claimed.events.count('batch.quarantined')).toBe(0)
  },
)

test('a row that stays locked holds the operation, which says so and goes on when it is free', async () => {
  await using db = await counters(100)
  await using claimed = await claimFirst(db, addByPreset)
  const { run, events } = claimed
  await using holder = await lockRow(db)
  const query = `select from counters where id = ${locked} for update nowait`
  const error = await db.query(query).catch((refused: unknown) => refused)
  const begun = begunOf(claimed)
  begun.sizes.shrinkTo(1)
  for (let before = 0; before < 10; before++) begun.failures.add('locked', 1)
  const outcome = { kind: 'failed', error } as const
  expect(await recover(run, begun, outcome)).toBe('on')
  expect(await recover(run, begun, outcome)).toBe('on')
  expect([begun.sizes.subBatch, begun.failures.onOneRow]).toEqual([1, 0])
  expect(await recover(run, begun, outcome)).toBe('over')
  expect(events.payloads('operation.held')).toMatchObject([{ reason: expect.stringContaining('keeps rows locked') }])
  expect(await db.value('select status from sluice.operation')).toBe('held')
  expect(await db.query('select errors, rows_quarantined::int from sluice.batch')).toEqual([
    { errors: 0, rows_quarantined: 0 },
  ])
  await holder.query('rollback')
  await db.query('update sluice.operation set hold_until = now(); update sluice.batch set ready_at = now()')
  const { sluice, events: after } = working(db, [addByPreset], patient)
  await using _ = sluice
  await sluice.start()
  expect(await after.event('operation.finished')).toMatchObject({ rowsChanged: 100, rowsQuarantined: 0 })
})

/** Notes the limit on waits for locks with each statement that changes a row. */
async function withLimits(db: TestDatabase): Promise<void> {
  await db.query('create table met (ms int)')
  await db.query(`create function note_limit() returns trigger language plpgsql security definer as $$ begin
    insert into met select setting::int from pg_settings where name = 'lock_timeout'; return null; end $$`)
  await db.query(`create trigger note_limit after update on counters for each statement execute function note_limit()`)
}

test.each([
  ['in one statement', { subBatchSize: 50 }, { stride: 1 }],
  ['in a large transaction', { subBatchSize: 3_000 }, { stride: 1 }],
  ['in strides', { subBatchSize: 50 }, { stride: 10 }],
  ['in strides of large transactions', { subBatchSize: 30_000 }, { stride: 10 }],
])('a preset %s waits at most 100 ms for each lock', async (_, size, stride) => {
  await using db = await counters(3_000)
  await withLimits(db)
  const done = backfill({ name: 'limits', table: 'counters', batchSize: 3_000, ...size, ...stride, set: { n: sql`1` } })
  const { sluice, events } = working(db, [done], patient)
  await using __ = sluice
  await sluice.start()
  await sluice.operations.start(done, undefined, { force: true })
  await events.event('operation.finished')
  expect(await db.value('select array_agg(distinct ms) from met')).toEqual([100])
})

test('work of your own waits at most 100 ms for each lock, and for a single row as long as its sessions do', async () => {
  await using db = await counters(101)
  await withLimits(db)
  const { sluice, events } = working(db, [addOne], { ...patient, timeouts: { lock: '7s' } })
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(addOne)
  await events.event('operation.finished')
  expect(await db.value('select array_agg(ms order by ms) from met')).toEqual([100, 100, 7_000])
})

test('work with external effects runs while no row is locked and no transaction is open', async () => {
  await using db = await counters(100)
  const free: unknown[] = []
  const external = defineOperation({
    ...shape,
    effects: 'external',
    async perform() {
      free.push(await db.value('select count(*)::int from (select from counters for update skip locked) free'))
      // Those of the worker's chores end by themselves; one around this work would be open as long as it runs.
      await until('no transaction is open', async () =>
        db.value(`select count(*) = 0 from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and state like 'idle in transaction%'`),
      )
    },
  })
  const { sluice, events } = working(db, [external], patient)
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(external)
  await events.event('operation.finished')
  expect(free).toEqual([100, 100])
})
