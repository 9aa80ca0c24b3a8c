import sql from 'sql-template-tag'
import { describe, expect, test } from 'vitest'
import { backfill } from '../../src/index.ts'
import { chooseStride, nextStride, type StrideFacts } from '../../src/operations/stride.ts'
import type { TestDatabase } from '../support/database.ts'
import { testDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { until } from '../support/wait.ts'
import { spawnWorker, testProfile } from '../support/worker.ts'
import { patient, working } from '../support/working.ts'
import { findingsOf } from './preflight-place.ts'

const refused = (stride: unknown) => () =>
  backfill({ name: 'finish', table: 'counters', set: { done: sql`true` }, stride: stride as number })

describe('the choice', () => {
  const facts: StrideFacts = {
    changes: { kind: 'update', columns: ['done'], stride: 'auto' },
    lanes: 1,
    indexes: [{ name: 'rows_pkey', valid: true, columns: ['id'], summarizing: false }],
    pages: { plain: true, rowsPerPage: 40, filled: 1, correlation: 1, heldBy: null },
  }
  const of = (change: Partial<StrideFacts>): number => chooseStride({ ...facts, ...change }).of
  const pages = (change: Partial<StrideFacts['pages']>): number => of({ pages: { ...facts.pages, ...change } })
  const indexed = { name: 'rows_done', valid: true, columns: ['done'], summarizing: false }

  test.each([
    ['full pages', of({}), 10],
    ['few rows on a page', pages({ rowsPerPage: 6.7 }), 6],
    ['hardly any rows on a page', pages({ rowsPerPage: 3 }), 1],
    ['no statistics', pages({ rowsPerPage: 0 }), 1],
    ['half empty pages', pages({ filled: 0.45 }), 1],
    ['rows in the opposite order', pages({ correlation: -0.99 }), 10],
    ['rows in no order', pages({ correlation: 0.1 }), 1],
    ['rows that strides have put out of order', of({ pages: { ...facts.pages, correlation: 0.1 }, begun: true }), 10],
    ['an old snapshot, also after strides', of({ pages: { ...facts.pages, heldBy: 'pid 7' }, begun: true }), 1],
    ['a snapshot that is held', pages({ heldBy: 'pid 7' }), 1],
    ['a partitioned table', pages({ plain: false }), 1],
    ['several lanes', of({ lanes: 2 }), 1],
    ['lanes by themselves', of({ lanes: 'auto' }), 1],
    ['no index at all', of({ indexes: [] }), 1],
    ['an index on what changes', of({ indexes: [...facts.indexes, indexed] }), 1],
    ['one that summarizes only', of({ indexes: [...facts.indexes, { ...indexed, summarizing: true }] }), 10],
    ['a definition that says how many', of({ changes: { ...facts.changes, stride: 7 }, lanes: 3 }), 7],
    ['a definition that wants none', of({ changes: { ...facts.changes, stride: 1 } }), 1],
    ['a delete', of({ changes: { kind: 'delete' } }), 1],
  ])('with %s', (_, chosen, expected) => {
    expect(chosen).toBe(expected)
  })

  test('what is left is done at once when few rows are in scope', () => {
    const stretch = { rows: 1_000, stride: { of: 10, at: 0 } }
    expect(nextStride(stretch, 90)?.stride).toEqual({ of: 10, at: 1 })
    expect(nextStride(stretch, 3)?.stride).toEqual({ of: 10, at: 9 })
    expect(nextStride({ ...stretch, stride: { of: 10, at: 9 } }, 90)).toBeUndefined()
    expect(nextStride({ rows: 1_000 }, 90)).toBeUndefined()
  })

  test('a stride that cannot be one is refused', () => {
    for (const stride of [0, 2.5, 101, 'often', null]) expect(refused(stride)).toThrow('"stride" must be "auto"')
  })
})

/** Full pages, each row of which tells how often it was updated. */
async function fullPages(rows: number, also = ''): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(`create table counters (id bigint primary key, n int not null default 0, done boolean not null default
    false, filling text not null default repeat('x', 150)) with (autovacuum_enabled = false)`)
  await db.query('create index counters_filling on counters (filling, id)')
  await db.query('insert into counters (id) select generate_series(1, $1::int)', [rows])
  await db.query(`create function count_up() returns trigger language plpgsql as
    $$ begin ${also} new.n := old.n + 1; return new; end $$`)
  await db.query('create trigger count_up before update on counters for each row execute function count_up()')
  await db.query('vacuum analyze counters')
  return db
}

const finish = backfill({ name: 'finish', table: 'counters', set: { done: sql`true` }, subBatchSize: 100 })
/** The same on any machine: what is chosen otherwise depends on who holds a snapshot at that moment. */
const strided = backfill({ name: 'finish', table: 'counters', set: { done: sql`true` }, subBatchSize: 100, stride: 10 })
const wrong = 'select count(*)::int from counters where n <> 1 or not done'

test(
  'each row changes once and is counted once, though answers within a stride are lost',
  { timeout: 60_000 },
  async () => {
    await using db = await fullPages(6_000)
    const upstream = new URL(db.url)
    await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
    const { sluice, events } = working(db, [strided], { ...patient, database: proxy.url(db.workerUrl) })
    await using _ = sluice
    await sluice.start()
    await sluice.operations.start(strided)
    await events.event('sub-batch.committed')
    const lost = proxy.dropAnswerTo(/tidsend/, { times: 3, ending: 'rst' })
    expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 6_000, rowsChanged: 6_000 })
    expect(lost.hits).toBeGreaterThan(0)
    expect(await db.value(wrong)).toBe(0)
    expect(events.payloads('sub-batch.doubted').map(({ outcome }) => outcome)).toContain('told by the rows')
  },
)

test('a bad row is isolated alone, and all others of its pages change once', { timeout: 60_000 }, async () => {
  await using db = await fullPages(5_000, `if old.id = 2345 then raise exception 'not this one'; end if;`)
  const { sluice, events } = working(db, [finish])
  await using _ = sluice
  await sluice.start()
  const { id } = await sluice.operations.start(finish)
  const done = await sluice.operations.wait(id, { everyMs: 20 })
  for (const { rows } of events.payloads('batch.quarantined')) expect(rows).toBe(1)
  expect(await db.query(`select id from counters where n <> 1 or not done`)).toEqual([{ id: '2345' }])
  expect(done).toMatchObject({ rowsSeen: 5_000, rowsChanged: 4_999, rowsQuarantined: 1 })
})

test('a worker killed within a stride leaves nothing out and nothing to do twice', { timeout: 90_000 }, async () => {
  const wait = `if old.id = 17 then while not exists (select from go) loop perform pg_sleep(0.02); end loop; end if;`
  await using db = await fullPages(3_000, wait)
  await db.query('create table go (now int)')
  const operations = `const operations = [backfill({ name: 'finish', table: 'counters', set: { done: sql\`true\` }, subBatchSize: 60, stride: 10 })]`
  const profile = { ...testProfile, timeouts: { ...testProfile.timeouts, statement: '60s' } }
  const { sluice } = working(db, [finish])
  await using _ = sluice
  const { id } = await sluice.operations.start(finish)
  {
    await using worker = await spawnWorker({ url: db.workerUrl, operations, profile })
    const within = 'select count(*)::int from sluice.batch where rows_changed > rows_seen and rows_seen = 0'
    await until('some transactions of a stride are done', async () => (await db.value(within)) === 1, 60_000)
    worker.kill('SIGKILL')
    await worker.exited
  }
  // The server does not notice while it works for the dead one.
  await db.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'sluice work'`)
  await db.query('insert into go values (1)')
  await using _other = await spawnWorker({ url: db.workerUrl, operations, profile })
  const done = await sluice.operations.wait(id, { everyMs: 50 })
  expect(done).toMatchObject({ state: 'finished', rowsSeen: 3_000, rowsChanged: 3_000 })
  expect(await db.value(wrong)).toBe(0)
})

test('the plan says how full pages are dealt with, and what would keep them from it', async () => {
  await using db = await fullPages(3_000)
  const [found] = await findingsOf(db, finish, 'HOT')
  expect(found).toMatchObject({ severity: 'note' })
  expect(found?.what).toContain('one row in 10 of each page')
  await db.query('create index on counters (done)')
  const [cold] = await findingsOf(db, finish, 'HOT')
  expect(cold).toMatchObject({ severity: 'warn' })
})

test('a value that depends on the one before it is set once: there are no strides', { timeout: 60_000 }, async () => {
  await using db = await fullPages(3_000)
  await db.query('drop trigger count_up on counters')
  const count = backfill({
    name: 'count',
    table: 'counters',
    set: { n: sql`n + 1` },
    subBatchSize: 100,
    stride: 10,
    verify: false,
  })
  const { sluice, events } = working(db, [count])
  await using _ = sluice
  await sluice.start()
  await sluice.operations.start(count)
  expect(await events.event('operation.finished')).toMatchObject({ rowsSeen: 3_000, rowsChanged: 3_000 })
  expect(await db.value('select count(*)::int from counters where n <> 1')).toBe(0)
})
