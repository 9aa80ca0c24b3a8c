import sql from 'sql-template-tag'
import { describe, expect, test } from 'vitest'
import { backfill } from '../../src/index.ts'
import { chooseStride, nextStride, type StrideFacts } from '../../src/targets/postgres/strides.ts'
import { working } from '../support/working.ts'
import { fullPages } from './full-pages-table.ts'
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

const finish = backfill({ name: 'finish', table: 'counters', set: { done: sql`true` }, subBatchSize: 100 })

test('a bad row is isolated alone, and all others of its pages change once', async () => {
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

test('the plan says how full pages are dealt with, and what would keep them from it', async () => {
  await using db = await fullPages(3_000)
  const [found] = await findingsOf(db, finish, 'HOT')
  expect(found).toMatchObject({ severity: 'note' })
  expect(found?.what).toContain('one row in 10 of each page')
  await db.query('create index on counters (done)')
  const [cold] = await findingsOf(db, finish, 'HOT')
  expect(cold).toMatchObject({ severity: 'warn' })
})

test('a value that depends on the one before it is set once: there are no strides', async () => {
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
