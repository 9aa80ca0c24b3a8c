import pg from 'pg'
import { expect, test } from 'vitest'
import { backfill, defineOperation, expire, sql } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { counters } from '../support/working.ts'
import { planOf } from './preflight-place.ts'

/** Events of which the first half is old. */
async function events(rows: number): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query('create table events (id bigint primary key, at timestamptz not null, note text)')
  await db.query(
    `insert into events
     select i, now() - case when i <= $1::int / 2 then interval '1 year' else interval '1 day' end, 'note ' || i
     from generate_series(1, $1::int) i`,
    [rows],
  )
  await db.query('analyze events')
  return db
}

const expiry = expire({ name: 'old', table: 'events', olderThan: '90 days', by: 'at', subBatchSize: 500 })

test('one sub-batch of a delete is really run and rolled back, and its first rows are shown', async () => {
  await using db = await events(20_000)
  const { dryRun, estimate } = await planOf(db, expiry)
  expect(dryRun).toMatchObject({ outcome: 'rolled back', run: { rowsMatched: 500, rowsChanged: 500, deleted: 500 } })
  expect(dryRun.run?.rows).toHaveLength(20)
  const [first] = dryRun.run?.rows ?? []
  expect(first).toMatchObject({ outcome: 'deleted', before: { note: `note ${first?.key[0]}` }, after: null })
  expect(await db.value('select count(*)::int from events')).toBe(20_000)
  expect(estimate.walBytes).toBeGreaterThan(0)
  expect(estimate.durationMs?.to).toBeGreaterThan(estimate.durationMs?.from ?? 0)
})

test('rows are estimated by looking along the whole key, not at its beginning alone', async () => {
  await using db = await events(20_000)
  const { estimate } = await planOf(db, expiry, { dryRun: false })
  expect(estimate).toMatchObject({ by: 'samples', batches: 1, walBytes: null, durationMs: null })
  expect(estimate.sampled.windows).toBe(10)
  expect(estimate.rowsToSee).toBeGreaterThan(19_000)
  expect(estimate.rowsToSee).toBeLessThan(21_000)
  expect(estimate.rowsToChange).toBeGreaterThan(7_000)
  expect(estimate.rowsToChange).toBeLessThan(13_000)
  expect(estimate.tableBytes).toBeGreaterThan(estimate.bytesToChange)
})

test('a part of the table is estimated as such, and without statistics its two ends are looked at', async () => {
  await using db = await events(20_000)
  const part = await planOf(db, expiry, { dryRun: false, min: [15_000] })
  expect(part.estimate).toMatchObject({ sampled: { matched: 0 }, by: 'planner' })
  expect(part.estimate.rowsToSee).toBeLessThan(6_000)
  await db.query('create table fresh (like events including all)')
  await db.query('alter table fresh set (autovacuum_enabled = off)')
  await db.query('insert into fresh select * from events')
  const fresh = await planOf(
    db,
    expire({ name: 'f', table: 'fresh', olderThan: '90 days', by: 'at', subBatchSize: 1_000 }),
  )
  expect(fresh.estimate.sampled).toEqual({ windows: 2, rows: 2_000, matched: 1_000 })
  expect(fresh.dryRun.outcome).toBe('rolled back')
})

test('an update shows the columns that change, before and after, and how many updates were HOT', async () => {
  await using db = await counters(1_000)
  await db.query('alter table counters add size text')
  const fill = backfill({ name: 'fill', table: 'counters', set: { size: sql`repeat('x', (id % 300)::int)` } })
  const { dryRun, findings, statements } = await planOf(db, fill)
  expect(dryRun.run?.rows[0]).toEqual({ key: ['1'], outcome: 'changed', before: { size: null }, after: { size: 'x' } })
  expect(dryRun.run?.updated).toBe(dryRun.run?.rowsChanged)
  expect(findings.filter(({ check }) => check === 'HOT').map(({ what }) => what)).toContainEqual(
    expect.stringMatching(/^\d+ of \d+ updates of the dry run were HOT/),
  )
  expect(statements.at(-1)?.text).toMatch(/^update "?public"?\."?counters"? set "size"/)
  expect(await db.value('select count(*)::int from counters where size is not null')).toBe(0)
})

test('what is found out by running it makes the findings precise', async () => {
  await using db = await events(1_000)
  await db.query('create table marks (id int primary key, event_id bigint references events on delete cascade)')
  await db.query('insert into marks select i, i from generate_series(1, 1000) i')
  const any = defineOperation({
    name: 'any',
    table: 'events',
    subBatchSize: 100,
    perform: ({ batch }) => batch.delete(),
  })
  const { findings, dryRun } = await planOf(db, any)
  expect(findings.find(({ check }) => check === 'foreign key')?.why).not.toContain('if rows are deleted')
  expect(dryRun.run?.others).toMatchObject([{ schema: 'public', name: 'marks', deleted: 100 }])
  expect(findings.find(({ check }) => check === 'dry run')?.what).toBe(
    'The dry run changed rows of other tables, too: public.marks 100 deleted',
  )
  expect(findings.find(({ check }) => check === 'other table')?.what).toMatch(/read \d\d,\d{3} rows of public.marks/)
  expect(await db.value('select count(*)::int from marks')).toBe(1_000)
})

test('work with effects outside of the database is not run, nor is any that is not asked for', async () => {
  await using db = await counters(10)
  const called: string[] = []
  const mail = defineOperation({
    name: 'mail',
    table: 'counters',
    effects: 'external',
    perform: async () => void called.push('mail'),
  })
  const plain = defineOperation({ name: 'plain', table: 'counters', perform: async () => void called.push('plain') })
  expect((await planOf(db, mail)).dryRun).toMatchObject({
    outcome: 'left out',
    reason: expect.stringContaining('cannot be rolled back') as string,
  })
  expect((await planOf(db, plain, { dryRun: false })).dryRun.outcome).toBe('left out')
  expect(called).toEqual([])
})

test('work that can never succeed is a refusal, with its error', async () => {
  await using db = await counters(10)
  const wrong = defineOperation({ name: 'wrong', table: 'counters', perform: ({ batch }) => batch.update(sql`m = 1`) })
  const plan = await planOf(db, wrong)
  expect(plan).toMatchObject({ refused: true, dryRun: { outcome: 'failed' } })
  expect(plan.findings[0]?.what).toContain('column "m" of relation "counters" does not exist')
})

test('rows that others have locked are waited for a second, and told', async () => {
  await using db = await counters(10)
  const other = new pg.Client({ connectionString: db.url })
  await other.connect()
  try {
    await other.query('begin')
    await other.query('select from counters where id = 3 for update')
    const touch = defineOperation({
      name: 'touch',
      table: 'counters',
      perform: ({ batch }) => batch.update(sql`n = 1`),
    })
    const plan = await planOf(db, touch)
    expect(plan).toMatchObject({ refused: false, dryRun: { outcome: 'failed' } })
    expect(plan.findings.find(({ check }) => check === 'dry run')).toMatchObject({ severity: 'warn' })
  } finally {
    await other.end()
  }
})

test('an empty table has nothing to run', async () => {
  await using db = await counters(0)
  const touch = defineOperation({ name: 'touch', table: 'counters', perform: ({ batch }) => batch.update(sql`n = 1`) })
  expect(await planOf(db, touch)).toMatchObject({
    to: null,
    estimate: { rowsToSee: 0, rowsToChange: 0, batches: 0 },
    dryRun: { outcome: 'left out' },
    statements: [],
  })
})
