import { describe, expect, test } from 'vitest'
import { backfill, defineOperation, expire, raw, sql, type OperationDefinition } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { patiently } from '../support/patience.ts'
import { until } from '../support/wait.ts'
import { ended, working } from '../support/working.ts'

const aged = `now() - interval '2 years'`
const fresh = `now() - interval '1 day'`
const expireEvents = expire({ name: 'expire-events', table: 'events', by: 'at', olderThan: '1 year' })

/** A table of rows in time order, of which the oldest percent is aged, and an index on their age. */
async function events(rows = 20_000, type = 'timestamptz'): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(`create table events (id bigint primary key, at ${type}, n int not null default 0, body text)`)
  await db.query(`insert into events
    select i, (case when i <= ${rows / 100} then ${aged} else ${fresh} end + i * interval '1 microsecond')::${type}, 0, repeat('x', 100)
    from generate_series(1, ${rows}) i`)
  // What this reads is not counted.
  await db.query('begin; set local track_counts = off; create index events_at_idx on events (at); commit')
  await db.query('vacuum analyze events')
  return db
}

/** Rows that statements have read in the table so far, and entries in its indexes. */
async function rowsRead(db: TestDatabase): Promise<{ inOrder: number; byIndex: number }> {
  const [read] = await db.query<{ inOrder: number; byIndex: number }>(
    `select t.seq_tup_read::int as "inOrder",
       (select sum(i.idx_tup_read)::int from pg_stat_user_indexes i where i.relid = t.relid) as "byIndex"
     from pg_stat_user_tables t where t.relname = 'events'`,
  )
  return read ?? { inOrder: 0, byIndex: 0 }
}

/** Runs an operation to its end. */
async function run(db: TestDatabase, definition: OperationDefinition<undefined>, options: object = {}) {
  const { sluice, events: log } = working(db, [definition])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(definition, undefined, options)
  return { status: await ended(sluice, id), log, quarantined: await sluice.operations.quarantined(id) }
}

test('an expiry goes along the index on the age, up to the last aged row, and reads no other', async () => {
  await using db = await events()
  const { sluice, events: log } = working(db, [expireEvents])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(expireEvents)
  expect(await ended(sluice, id)).toMatchObject({
    state: 'finished',
    walk: { kind: 'range', index: 'events_at_idx', columns: ['at', 'id'] },
    rowsSeen: 200,
    rowsChanged: 200,
  })
  expect(log.count('operation.verifying')).toBe(1)
  // Sessions say what they have read when they end.
  await sluice.stop()
  await until('all of it is counted', async () => (await rowsRead(db)).byIndex >= 200)
  const { inOrder, byIndex } = await rowsRead(db)
  expect(inOrder).toBe(0)
  // Each aged row is met a few times: a batch is cut, a window, rows are counted, changed and looked for again.
  expect(byIndex).toBeLessThan(4_000)
  expect(await db.value(`select count(*)::int from events`)).toBe(19_800)
})

test('a plan says along which index the operation will go, and why', async () => {
  await using db = await events()
  const { sluice } = working(db, [expireEvents])
  await using _ = sluice
  expect((await sluice.operations.plan(expireEvents.name)).walk).toEqual({
    kind: 'range',
    index: 'events_at_idx',
    columns: ['at', 'id'],
    says: 'along events_at_idx by at, from the first row to the last one in scope',
    why: expect.stringMatching(/^events_at_idx finds the rows in scope, about \d+ of 20,000$/) as string,
  })
})

describe('a walk in the order of the key is taken', () => {
  const postpone = { name: 'postpone', table: 'events', where: sql`at < now() - interval '1 year'`, verify: false }
  test.each<[string, OperationDefinition<undefined>, (string | undefined)?, object?]>([
    [
      'where the change moves rows along the index',
      backfill({ ...postpone, set: { at: sql`at + interval '1 day'`, n: sql`n + 1` } }),
    ],
    [
      'where a trigger may move rows along the index',
      backfill({ ...postpone, set: { n: sql`n + 1` } }),
      `create function later() returns trigger language plpgsql as $$ begin new.at := new.at + interval '1 day'; return new; end $$;
       create trigger later before update on events for each row execute function later()`,
    ],
    [
      'where the column is computed from one that changes',
      backfill({ ...postpone, where: sql`half < 100`, set: { n: sql`n + 2` } }),
      `alter table events add half bigint generated always as (id / 2 + n / 2) stored;
       create index events_half_idx on events (half); vacuum analyze events`,
    ],
    [
      'where the work is not known',
      defineOperation({
        name: 'own',
        table: 'events',
        scope: () => sql`at < now() - interval '1 year'`,
        perform: ({ batch }) => batch.update(sql`at = at + interval '1 day', n = n + 1`),
      }),
    ],
    ['where it begins at a key', expireEvents, undefined, { min: [0] }],
    [
      'where most rows are in scope',
      expireEvents,
      `update events set at = at - interval '2 years'; vacuum analyze events`,
    ],
    [
      'where the index is of another kind',
      expireEvents,
      `drop index events_at_idx; create index on events using brin (at)`,
    ],
    [
      'where rows have no place of their own',
      expire({ name: 'x', table: 'events', by: 'at', olderThan: '1 year' }),
      `update events set at = at - interval '2 years' where id % 10 = 0; vacuum analyze events`,
    ],
  ])('%s', async (_, definition, change, options) => {
    await using db = await events()
    for (const statement of change?.split(/;\s+(?=create|vacuum|drop)/) ?? []) await db.query(statement)
    const { status } = await run(db, definition, options)
    expect(status).toMatchObject({ state: 'finished', walk: { columns: ['id'] } })
    expect(status.walk.kind).not.toContain('range')
    expect(await db.value('select coalesce(max(n), 0)::int <= 2 from events where id > 0')).toBe(true)
    expect(await db.value(`select count(*)::int from events where n > 1 and ${change === undefined}`)).toBe(0)
  })
})

/** Lets the planner choose an index wherever there is one: tables of tests are too small for it to pay. */
async function preferIndexes(db: TestDatabase): Promise<void> {
  const name = await db.value<string>('select current_database()')
  await db.query(`alter database ${name} set enable_seqscan = off`)
  await db.query(`alter database ${name} set enable_bitmapscan = off`)
}

interface Shape {
  /** Of the age column, and how one of its values is made of a number. */
  type: string
  value: (of: string) => string
  where: string
  index: string
  /** Further columns of the index or the key. */
  key?: string
  partitioned?: boolean
  kind?: 'range' | 'sparse range'
}

/** Ages from 0 to 999; those below 500 are in scope. */
const shapes: Record<string, Shape> = {
  'an index on the age': {
    type: 'timestamptz',
    value: (of) => `'2020-01-01'::timestamptz + ${of} * interval '1 hour'`,
    where: `at < '2020-01-01'::timestamptz + 500 * interval '1 hour'`,
    index: '(at)',
  },
  'dates, each with many rows, descending': {
    type: 'date',
    value: (of) => `'2020-01-01'::date + (${of} / 100)::int`,
    where: `at < '2020-01-06'`,
    index: '(at desc)',
  },
  'whole numbers, and the key behind them': {
    type: 'integer',
    value: (of) => `${of} / 250`,
    where: `at <= 1`,
    index: '(at, id)',
  },
  'texts in an order of their own': {
    type: 'text collate "und-x-icu"',
    value: (of) => `case ${of} % 2 when 0 then 'a' else 'B' end || lpad((${of})::text, 4, '0')`,
    where: `at < 'B0250'`,
    index: '(at)',
  },
  'a tenant first': {
    type: 'timestamp',
    value: (of) => `'2020-01-01'::timestamp + ${of} * interval '1 hour'`,
    where: `tenant = 1 and at < '2020-01-01'::timestamp + 500 * interval '1 hour'`,
    index: '(tenant, at)',
    kind: 'sparse range',
  },
  'some of the rows': {
    type: 'timestamptz',
    value: (of) => `'2020-01-01'::timestamptz + (${of} / 10) * interval '1 hour'`,
    where: `tenant = 1 and at < '2020-01-01'::timestamptz + 50 * interval '1 hour'`,
    index: '(at) where tenant = 1',
    kind: 'sparse range',
  },
  'the newest': {
    type: 'numeric',
    value: (of) => `(${of} / 3) * 1.50`,
    where: `at > 300.0`,
    index: '(at)',
    kind: 'sparse range',
  },
  'partitions by the age': {
    type: 'timestamptz',
    value: (of) => `'2020-01-01'::timestamptz + ${of} * interval '1 hour'`,
    where: `at < '2020-01-01'::timestamptz + 500 * interval '1 hour'`,
    index: '(at)',
    key: 'at, id',
    partitioned: true,
  },
}

async function table(
  { type, value, index, key = 'id', partitioned = false }: Shape,
  rows: number,
): Promise<TestDatabase> {
  const db = await testDatabase()
  const nullable = partitioned ? 'not null' : ''
  await db.query(`create table events (id bigint, at ${type} ${nullable}, tenant int not null, n int not null default 0, primary key (${key}))
    ${partitioned ? 'partition by range (at)' : ''}`)
  if (partitioned) {
    await db.query(`create table events_1 partition of events for values from (minvalue) to ('2020-01-10')`)
    await db.query(`create table events_2 partition of events for values from ('2020-01-10') to (maxvalue)`)
  }
  // In no order, and every tenth without an age where that may be.
  await db.query(`insert into events
    select i, ${partitioned ? '' : 'case when i % 10 = 0 then null else '}${value('(i * 7919 % 1000)')}${partitioned ? '' : ' end'}, i % 2, 0
    from generate_series(1, ${rows}) i`)
  await db.query(`create index events_at_idx on events ${index}`)
  await db.query('analyze events')
  await preferIndexes(db)
  return db
}

const sizes = { batchSize: 700, subBatchSize: 60 }

test.each(Object.entries(shapes))(
  'along %s, each row in scope is changed once, and no other, in windows that are never too large',
  async (_, shape) => {
    const { where, kind = 'range' } = shape
    await using db = await table(shape, 3_000)
    const count = backfill({
      name: 'count',
      table: 'events',
      where: raw(where),
      set: { n: sql`n + 1` },
      verify: false,
      ...sizes,
    })
    const { status, log } = await run(db, count)
    expect(status).toMatchObject({ state: 'finished', walk: { kind } })
    expect(await db.value(`select count(*)::int from events where n <> coalesce((${where})::int, 0)`)).toBe(0)
    const seen = log.all.flatMap((e) => (e.event === 'sub-batch.committed' ? [e.payload.rowsSeen] : []))
    expect(Math.max(...seen)).toBeLessThanOrEqual(60)
    const inOneTransaction = `select max(rows)::int from (select count(*) as rows from events where n = 1 group by xmin) t`
    expect(await db.value(inOneTransaction)).toBeLessThanOrEqual(60)
  },
)

test.each(Object.entries(shapes))(
  'along %s, what the application inserts, moves and deletes around the walk leaves no row behind',
  async (_, shape) => {
    const { where, kind = 'range' } = shape
    await using db = await table(shape, 3_000)
    const empty = backfill({
      name: 'clear',
      table: 'events',
      where: raw(where),
      set: { n: sql`1` },
      verify: true,
      ...sizes,
    })
    const definition: OperationDefinition<undefined> = { ...empty, until: 'empty' }
    // Beside others the application may hold its rows for longer than the test profile waits for a lock.
    const { sluice, events: log } = working(db, [definition], { timeouts: { lock: patiently(20_000) } })
    await using __ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(definition)
    // Before, at and after the place where the operation is.
    for (let round = 1; round <= 5; round++) {
      await log.event('sub-batch.committed', { nth: round * 2 })
      const at = (of: string): string => shape.value(of)
      await db.query(
        `insert into events select ${10_000 * round} + i, ${at('(i * 7 % 1000)')}, 1, 0 from generate_series(1, 100) i`,
      )
      await db.query(`update events set at = ${at('(id * 13 % 1000)')}, n = 0 where id % 10 = ${round} and id < 3000`)
      await db.query(`delete from events where id % 50 = ${round}`)
    }
    expect(await ended(sluice, id)).toMatchObject({
      state: 'finished',
      reason: null,
      walk: { kind: expect.stringContaining(kind) as string },
    })
    // What came behind the second pass is for the next run.
    const { status } = await run(db, { ...empty, name: 'again' })
    expect(status.state).toBe('finished')
    expect(await db.value(`select count(*)::int from events where (${where}) and n = 0`)).toBe(0)
    expect(
      await db.value(
        `select count(*)::int from events where n = 1 and not coalesce((${where}), false) and id % 10 > 5 and id < 3000`,
      ),
    ).toBe(0)
  },
)

test.each(Object.entries(shapes))(
  'along %s, rows that cannot be changed are isolated, each alone among those that share its value',
  async (_, shape) => {
    const { where } = shape
    await using db = await table(shape, 1_500)
    await db.query(`alter table events add constraint poison check (n = 0 or id not in (101, 777, 1313))`)
    const bad = await db.query<{ id: string }>(
      `select id from events where id in (101, 777, 1313) and (${where}) order by at, id`,
    )
    const mark = backfill({
      name: 'mark',
      table: 'events',
      where: raw(where),
      set: { n: sql`1` },
      verify: true,
      ...sizes,
    })
    const { status, quarantined } = await run(db, mark)
    expect(status).toMatchObject({
      rowsQuarantined: bad.length,
      state: bad.length === 0 ? 'finished' : 'finished_with_quarantine',
    })
    expect(
      quarantined.map(({ rows, upper_key }) => [rows, upper_key.includes(String(bad[0]?.id)) || upper_key.length]),
    ).toHaveLength(bad.length)
    expect(
      quarantined.every(({ rows, upper_key }) => rows === 1 && upper_key.length === (upper_key.length > 1 ? 2 : 1)),
    ).toBe(true)
    expect(await db.value(`select count(*)::int from events where n <> coalesce((${where})::int, 0)`)).toBe(bad.length)
  },
)

test('an operation whose index was dropped is held, and goes on where it was when there is one again', async () => {
  await using db = await table(shapes['dates, each with many rows, descending'] as Shape, 3_000)
  const where = sql`at < '2020-01-06'`
  const count = backfill({ name: 'count', table: 'events', where, set: { n: sql`n + 1` }, verify: false, ...sizes })
  const first = working(db, [count])
  await first.sluice.start()
  const { id } = await first.sluice.operations.start(count)
  await first.events.event('sub-batch.committed', { nth: 4 })
  await first.sluice.stop()
  await db.query('drop index events_at_idx')
  const { sluice, events: log } = working(db, [count])
  await using _ = sluice
  await sluice.start()
  const { reason } = await log.event('operation.held')
  expect(reason).toMatch(/^the plan has changed: No index of public\.events serves the cursor \(at, id\)/)
  await db.query('create index on events (at)')
  await sluice.operations.resume(id)
  expect(await ended(sluice, id)).toMatchObject({ state: 'finished', walk: { kind: 'range' } })
  expect(await db.value(`select count(*)::int from events where n <> coalesce((at < '2020-01-06')::int, 0)`)).toBe(0)
})

test('few rows that an index finds in no order of the key are put in order, and no others are read', async () => {
  await using db = await testDatabase()
  // Those of the parent are the last: who walked the key to them would read the whole table.
  await db.query('create table events (id bigint primary key, parent_id int, state text, body text)')
  await db.query(`insert into events
    select i, case when i > 19000 then 7 else i % 5 end, case i % 2 when 0 then 'done' else 'open' end, repeat('x', 300) from generate_series(1, 20000) i`)
  await db.query('begin; set local track_counts = off; create index events_parent_idx on events (parent_id); commit')
  await db.query('vacuum analyze events')
  const clear = defineOperation({
    name: 'clear',
    table: 'events',
    scope: () => sql`parent_id = 7 and state = 'done'`,
    perform: ({ batch }) => batch.delete(),
    batchSize: 200,
    subBatchSize: 50,
  })
  const { sluice, events: log } = working(db, [clear])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(clear)
  expect(await ended(sluice, id)).toMatchObject({
    state: 'finished',
    walk: {
      kind: 'found',
      index: 'events_parent_idx',
      says: 'along the key (id), rows in scope alone, which events_parent_idx finds',
    },
    rowsSeen: 500,
    rowsChanged: 500,
  })
  expect(log.count('sub-batch.committed')).toBe(10)
  await sluice.stop()
  const read = await db.value<number>(`select seq_tup_read::int from pg_stat_user_tables where relname = 'events'`)
  expect(read).toBe(0)
  const byKey = `select idx_tup_read::int from pg_stat_user_indexes where indexrelname = 'events_pkey'`
  expect(await db.value(byKey)).toBeLessThan(5_000)
  expect(await db.value(`select count(*)::int from events where parent_id = 7 and state = 'done'`)).toBe(0)
  expect(await db.value(`select count(*)::int from events`)).toBe(19_500)
})

test('a group of equal values that is larger than a sub-batch is split by the key', async () => {
  await using db = await testDatabase()
  await db.query(
    'create table events (id uuid primary key default gen_random_uuid(), at date, n int not null default 0)',
  )
  await db.query(`insert into events (at) select '2020-01-01' from generate_series(1, 50000)`)
  await db.query(`insert into events (at) select '2020-01-02' from generate_series(1, 100)`)
  await db.query('create index events_at_idx on events (at)')
  await db.query('analyze events')
  await preferIndexes(db)
  const where = sql`at < '2020-01-02'`
  const count = backfill({
    name: 'count',
    table: 'events',
    where,
    set: { n: sql`n + 1` },
    verify: false,
    subBatchSize: 5_000,
  })
  const { status, log } = await run(db, count)
  expect(status).toMatchObject({ state: 'finished', walk: { kind: 'range' }, rowsSeen: 50_000, rowsChanged: 50_000 })
  expect(await db.value(`select count(*)::int from events where n <> (at < '2020-01-02')::int`)).toBe(0)
  expect(log.count('sub-batch.committed')).toBe(10)
})

test.each([
  ['that it shares', '2020-01-01'],
  ['that it had alone', '2020-01-02'],
])('a row that comes later with the value of one in quarantine %s is not taken for it', async (_, at) => {
  await using db = await testDatabase()
  await db.query(
    'create table events (id bigint primary key, at date, n int not null default 0, check (n = 0 or id <> 50))',
  )
  await db.query(`insert into events select i, '2020-01-01' from generate_series(1, 100) i`)
  // Most rows are not in scope, so that the index is the cheaper way to those that are.
  await db.query(`insert into events select i, '2021-01-01' from generate_series(1001, 3000) i`)
  // In this order: an index over rows that were updated before it may have to wait for the snapshots of others.
  await db.query('create index events_at_idx on events (at)')
  await db.query('update events set at = $1 where id = 50', [at])
  await db.query('analyze events')
  await preferIndexes(db)
  const mark = backfill({
    name: 'mark',
    table: 'events',
    where: sql`at < '2020-01-03' and n = 0`,
    set: { n: sql`1` },
    verify: true,
    subBatchSize: 10,
  })
  const { sluice, events: log } = working(db, [mark])
  await using __ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(mark)
  await log.event('batch.quarantined')
  await db.query('insert into events select i, $1 from generate_series(-20, 0) i', [at])
  expect(await ended(sluice, id)).toMatchObject({
    state: 'finished_with_quarantine',
    rowsQuarantined: 1,
    walk: { kind: 'range' },
  })
  expect(await db.value('select array_agg(id)::text from events where n = 0 and id < 1000')).toBe('{50}')
  expect((await sluice.operations.quarantined(id)).map(({ upper_key }) => upper_key)).toEqual([[at, '50']])
})
