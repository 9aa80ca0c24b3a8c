import { describe, expect, test } from 'vitest'
import { defineOperation, sql } from '../../src/index.ts'
import { hintOf } from '../../src/operations/status.ts'
import type { Taken } from '../../src/operations/take.ts'
import { notAWalk } from '../../src/targets/postgres/choose-walk.ts'
import type { TestDatabase } from '../support/database.ts'
import type { EventLog } from '../support/events.ts'
import { taking } from '../support/taking.ts'
import { testProfile } from '../support/worker.ts'
import { addRows, counters, working } from '../support/working.ts'

const shape = { name: 'count', table: 'counters', batchSize: 100, subBatchSize: 20 } as const
const sparse = defineOperation({
  ...shape,
  scope: () => sql`done`,
  perform: ({ batch }) => batch.update(sql`n = n + 1`),
})
const wrong = `select count(*)::int from counters where n <> done::int`

test('a sparse operation steps on the rows in scope alone', async () => {
  await using db = await counters(50_000)
  await db.query('create index counters_done_idx on counters (id) where done')
  await db.query('update counters set done = true where id % 200 = 0')
  await db.query('vacuum analyze counters')
  const { sluice, events } = working(db, [sparse])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(sparse)
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 250, rowsChanged: 250, batches: 3 })
  expect(await db.value(wrong)).toBe(0)
  const { walk, rowsMatched, hint } = await sluice.operations.get(id)
  expect({ walk, rowsMatched, hint }).toMatchObject({
    walk: { kind: 'sparse', index: 'counters_done_idx', columns: ['id'] },
    rowsMatched: 250,
    hint: null,
  })
})

test('an index that has no row in scope leads to the end at once, and again', async () => {
  await using db = await counters(5_000)
  await db.query('create index counters_done_idx on counters (id) where done')
  await db.query('vacuum analyze counters')
  const { batchSize: _, subBatchSize: __, ...sized } = shape
  const found = defineOperation({ ...sized, scope: () => sql`done`, perform: ({ batch }) => batch.delete() })
  const { sluice, events } = working(db, [found])
  await using ___ = sluice
  await sluice.start()
  for (const nth of [1, 2]) {
    await sluice.operations.start(found)
    expect(await events.event('operation.finished', { nth })).toMatchObject({ rowsSeen: 0, batches: 1 })
  }
})

test('an index with the scope in front and the cursor behind it serves, too, and both passes use it', async () => {
  await using db = await counters(5_000)
  await db.query('alter table counters add owner int not null default 0')
  // In this order: an index over rows that were updated before it may have to wait for the snapshots of others.
  await db.query('create index counters_owner_idx on counters (owner, id)')
  await db.query('update counters set owner = 7, done = true where id % 100 = 0')
  // The server's own look may have come before the owners.
  await db.query('vacuum analyze counters')
  const owned = defineOperation({
    ...shape,
    verify: true,
    until: 'empty',
    scope: () => sql`owner = 7`,
    perform: ({ batch }) => batch.update(sql`n = n + 1, owner = 0`),
  })
  const { sluice, events } = working(db, [owned])
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(owned)
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 50, rowsChanged: 50 })
  expect(await db.value(wrong)).toBe(0)
})

test('a row that cannot be processed is isolated alone, however far its neighbours are', async () => {
  await using db = await counters(20_000)
  await db.query('create index counters_done_idx on counters (id) where done')
  await db.query('update counters set done = true where id % 100 = 0')
  await db.query('vacuum analyze counters')
  await db.query('alter table counters add check (id <> 7000 or n = 0)')
  const { sluice, events } = working(db, [sparse])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(sparse)
  expect(await events.event('operation.finished')).toMatchObject({ rowsChanged: 199, rowsQuarantined: 1 })
  const [isolated] = await sluice.operations.quarantined(id)
  expect(isolated).toMatchObject({ upper_key: ['7000'], rows: 1 })
})

test('without an index that serves the scope, an operation goes along its key, and says why', async () => {
  await using db = await counters(1_000)
  await using sluice = working(db, [sparse]).sluice
  expect(await sluice.operations.plan(sparse.name)).toMatchObject({
    refused: false,
    walk: {
      kind: 'key',
      index: null,
      says: 'along the key (id)',
      why: 'reading the table costs less than finding the rows in scope by an index',
    },
  })
})

describe('a plan is a walk along an index', () => {
  const scan = { 'Node Type': 'Index Scan', 'Index Name': 'i' }
  test.each([
    ['an index scan', scan, undefined],
    ['partitions in order', { 'Node Type': 'Merge Append', Plans: [scan, scan] }, undefined],
    ['a filtered index', { ...scan, Filter: '(state = 1)' }, 'i would be filtered by (state = 1)'],
    ['one filtered partition', { 'Node Type': 'Append', Plans: [scan, { ...scan, Filter: 'x' }] }, /would be filtered/],
    ['a sort', { 'Node Type': 'Sort', Plans: [scan] }, 'it would sort'],
    ['a scan of the table', { 'Node Type': 'Seq Scan' }, 'it would scan'],
    ['a bitmap', { 'Node Type': 'Bitmap Heap Scan' }, 'it would scan'],
  ])('%s', (_, plan, problem) => {
    if (problem === undefined) expect(notAWalk(plan)).toBeUndefined()
    else expect(notAWalk(plan)).toMatch(problem)
  })
})

test.each([
  ['few rows of many in scope', { sub_batches: 50, rows_seen: 50_000, rows_matched: 400 }, true],
  ['too early to tell', { sub_batches: 49, rows_seen: 50_000, rows_matched: 0 }, false],
  ['enough rows in scope', { sub_batches: 500, rows_seen: 50_000, rows_matched: 500 }, false],
] as const)('the hint at an index: %s', (_, counts, given) => {
  expect(hintOf({ walk: 'key', ...counts }) !== null).toBe(given)
  expect(hintOf({ walk: 'sparse', ...counts })).toBeNull()
})

/** Makes reading a row take so long for accounts that are not the owner. */
async function slowRows(db: TestDatabase, seconds: number): Promise<void> {
  await db.query(`create function slow() returns boolean language plpgsql volatile as
    $$ begin perform pg_sleep(${seconds}); return true; end $$`)
  await db.query('alter table counters enable row level security')
  await db.query('create policy slow on counters using (slow())')
}

async function takeOne(db: TestDatabase, carveMs: number): Promise<{ taken: Taken | undefined; events: EventLog }> {
  await using by = await taking(db, dense, { carveMs })
  return { taken: await by.take(), events: by.events }
}

const dense = defineOperation({ ...shape, batchSize: 1_000, perform: ({ batch }) => batch.update(sql`n = n + 1`) })

describe('a look for the end of a batch that takes too long', () => {
  test('is made for fewer rows, and for more again once it is quick', async () => {
    await using db = await counters(0)
    await addRows(db, 1, 2_000)
    await using sluice = working(db, [dense], { ...testProfile }).sluice
    await sluice.operations.start(dense)
    await slowRows(db, 0.002)
    const { taken } = await takeOne(db, 400)
    // 1,000 and 250 rows take 2 s and 0.5 s, which is over the limit; 62 do not.
    expect(taken?.batch.upper_key).toEqual(['62'])
    expect(await db.value('select carve_size from sluice.operation')).toBe(124)
    await db.query('alter table counters disable row level security')
    await db.query('delete from sluice.batch')
    expect((await takeOne(db, 400)).taken?.batch.upper_key).toEqual(['186'])
    expect(await db.value('select carve_size from sluice.operation')).toBe(248)
  })

  test('even for one row holds the operation, which says what it needs', async () => {
    await using db = await counters(20)
    await using sluice = working(db, [dense]).sluice
    const { id } = await sluice.operations.start(dense)
    await db.query('update sluice.operation set carve_size = 1')
    await slowRows(db, 0.5)
    const { taken, events } = await takeOne(db, 100)
    expect(taken).toBeUndefined()
    expect(await events.event('operation.held')).toMatchObject({
      reason: expect.stringContaining('needs an index') as string,
    })
    const { state, reason } = await sluice.operations.get(id)
    expect({ state, reason }).toEqual({
      state: 'held',
      reason: expect.stringContaining('finding the next row of public.counters by (id) takes longer than') as string,
    })
  })
})
