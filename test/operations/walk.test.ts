import { expect, test } from 'vitest'
import { backfill, defineOperation, expire, sql } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { ended, working } from '../support/working.ts'

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

test('an operation whose index is dropped goes on along its key, and meets each row once', async () => {
  await using db = await testDatabase()
  await db.query('create table events (id bigint primary key, state text, n int not null default 0, body text)')
  await db.query(`insert into events
    select i, case when i > 18000 then 'done' end, 0, repeat('x', 300) from generate_series(1, 40000) i`)
  await db.query(`create index events_done_idx on events (id) where state = 'done'`)
  await db.query('vacuum analyze events')
  const count = defineOperation({
    name: 'count',
    table: 'events',
    scope: () => sql`state = 'done' and id > 39000`,
    perform: ({ batch }) => batch.update(sql`n = n + 1`),
    batchSize: 500,
    subBatchSize: 50,
  })
  const first = working(db, [count])
  await first.sluice.start()
  const { id } = await first.sluice.operations.start(count)
  await first.events.event('sub-batch.committed', { nth: 4 })
  await first.sluice.stop()
  await db.query('drop index events_done_idx')
  const { sluice, events: log } = working(db, [count])
  await using _ = sluice
  await sluice.start()
  expect(await ended(sluice, id)).toMatchObject({ state: 'finished', walk: { kind: 'sparse' } })
  expect(log.count('operation.failed')).toBe(0)
  expect(await db.value(`select count(*)::int from events where n <> (id > 39000)::int`)).toBe(0)
})

test('an expiry of few rows goes along the index on the age, in the order of the key', async () => {
  await using db = await testDatabase()
  await db.query('create table events (id bigint primary key, at timestamptz, body text)')
  await db.query(`insert into events
    select i, now() - case when i % 100 = 0 then interval '2 years' else interval '1 day' end, repeat('x', 300)
    from generate_series(1, 20000) i`)
  await db.query('create index events_at_idx on events (at)')
  await db.query('vacuum analyze events')
  const old = expire({ name: 'expire-events', table: 'events', by: 'at', olderThan: '1 year' })
  const { sluice } = working(db, [old])
  await using _ = sluice
  await sluice.start()
  expect((await sluice.operations.plan('expire-events')).walk).toEqual({
    kind: 'found',
    index: 'events_at_idx',
    columns: ['id'],
    says: 'along the key (id), rows in scope alone, which events_at_idx finds',
    why: 'events_at_idx finds the rows in scope alone',
  })
  const { id } = await sluice.operations.start(old)
  expect(await ended(sluice, id)).toMatchObject({ state: 'finished', rowsSeen: 200, rowsChanged: 200 })
  expect(await db.value(`select count(*)::int from events where at < now() - interval '1 year'`)).toBe(0)
  expect(await db.value('select count(*)::int from events')).toBe(19_800)
})

test.each([
  ['no rows', 0],
  ['as many rows as two sub-batches have', 100],
])('a walk of rows in scope alone ends without an error where there are %s', async (_, rows) => {
  await using db = await testDatabase()
  await db.query('create table events (id bigint primary key, parent_id int, body text)')
  await db.query(`insert into events
    select i, case when i <= ${rows} then 7 else 8 + i % 100 end, repeat('x', 300) from generate_series(1, 20000) i`)
  await db.query('create index events_parent_idx on events (parent_id)')
  await db.query('vacuum analyze events')
  const where = sql`parent_id = 7`
  const shape = { table: 'events', batchSize: 100, subBatchSize: 50 } as const
  const clear = defineOperation({ ...shape, name: 'clear', scope: () => where, perform: ({ batch }) => batch.delete() })
  const mark = backfill({ ...shape, name: 'mark', where, set: { body: sql`'y'` }, verify: false })
  for (const definition of [mark, clear]) {
    const { sluice, events: log } = working(db, [definition])
    await using __ = sluice
    await sluice.start()
    const { id } = await sluice.operations.start(definition)
    expect(await ended(sluice, id)).toMatchObject({ state: 'finished', rowsChanged: rows, rowsQuarantined: 0 })
    expect(log.count('batch.retried')).toBe(0)
    await sluice.stop()
  }
})

test('batches whose rows have gone since they were cut do not stop an operation', async () => {
  await using db = await testDatabase()
  await db.query('create table events (id bigint primary key, n int not null default 0)')
  await db.query('insert into events select i from generate_series(1, 20000) i')
  await db.query('vacuum analyze events')
  // As if the table had so many rows: batches are cut by its statistics then, and those in the middle have none.
  const grown = `update pg_class set reltuples = 2000000 where oid = 'events'::regclass`
  await db.query(grown)
  const mark = backfill({ name: 'mark', table: 'events', set: { n: sql`1` }, verify: false })
  const { sluice, events: log } = working(db, [mark])
  await using _ = sluice
  const { id } = await sluice.operations.start(mark)
  await db.query('delete from events where id between 1000 and 18000')
  await db.query(grown)
  await sluice.start()
  const { state, reason } = await Promise.race([
    ended(sluice, id),
    log.event('operation.paused').then(async () => sluice.operations.get(id)),
  ])
  expect({ state, reason, retried: log.count('batch.retried') }).toEqual({
    state: 'finished',
    reason: null,
    retried: 0,
  })
})
