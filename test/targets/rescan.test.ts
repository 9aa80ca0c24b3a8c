import sql, { raw, type Sql } from 'sql-template-tag'
import { expect, test } from 'vitest'
import type { Key } from '../../src/store/operations.ts'
import { sliceOf } from '../../src/targets/postgres/change.ts'
import { resolveCursor } from '../../src/targets/postgres/cursor.ts'
import { describeTable } from '../../src/targets/postgres/table.ts'
import { keyAt, lastKey } from '../../src/targets/postgres/window.ts'
import type { KeyWindow, Walk } from '../../src/targets/walk.ts'
import { asConnection, testDatabase, type TestDatabase } from '../support/database.ts'

const rows = 50_000
const size = 500

interface Plan {
  'Node Type': string
  'Index Cond'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  Plans?: Plan[]
}

/** Rows of 40 owners with about 1,250 moments each: most windows lie within one owner, some across two. */
async function walked(db: TestDatabase): Promise<Walk> {
  await db.query(
    'create table walked (owner uuid, at timestamptz, marks int not null default 0, primary key (owner, at))',
  )
  await db.query(
    `insert into walked (owner, at)
     select md5((n % 40)::text)::uuid, '2026-01-01'::timestamptz + n * interval '1 second'
     from generate_series(1, $1::int) n`,
    [rows],
  )
  await db.query('vacuum analyze walked')
  const shape = await describeTable(asConnection(db), 'walked')
  return { table: shape.qualifiedName, cursor: resolveCursor(shape, undefined) }
}

async function windowsOf(db: TestDatabase, walk: Walk): Promise<KeyWindow[]> {
  const connection = asConnection(db)
  const end = (await lastKey(connection, walk)) ?? []
  const windows: KeyWindow[] = []
  for (let lower: Key | null = null; lower?.join() !== end.join();) {
    const upper: Key = (await keyAt(connection, { walk, window: { lower, upper: end }, count: size })) ?? end
    windows.push({ lower, upper })
    lower = upper
  }
  return windows
}

const leavesOf = (plan: Plan): Plan[] => (plan.Plans === undefined ? [plan] : plan.Plans.flatMap(leavesOf))

/** Runs a statement for its plan, and takes back what it did. */
async function explain(db: TestDatabase, statement: Sql): Promise<Plan> {
  const query = sql`explain (analyze, format json, timing off) ${statement}`
  const [explained] = await db.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(query.text, query.values)
  if (explained === undefined) throw new Error('no plan')
  return explained['QUERY PLAN'][0].Plan
}

test.each([
  ['update', (walk: Walk, where: Sql) => sql`update ${raw(walk.table)} set marks = marks + 1 where ${where}`],
  ['delete', (walk: Walk, where: Sql) => sql`delete from ${raw(walk.table)} where ${where}`],
])('each %s of a walk by uuid and time reads its own rows from one index range, and no others', async (_, change) => {
  await using db = await testDatabase()
  const walk = await walked(db)
  const windows = await windowsOf(db, walk)
  expect(windows).toHaveLength(rows / size)
  let worst = 0
  for (const window of windows) {
    const [leaf, ...others] = leavesOf(await explain(db, change(walk, sliceOf({ walk, window, scope: undefined }))))
    expect(others).toEqual([])
    expect(leaf?.['Node Type']).toMatch(/^(Bitmap )?Index( Only)? Scan$/)
    const condition = leaf?.['Index Cond'] ?? ''
    if (window.lower !== null) expect(condition).toContain('ROW(owner, at) > ')
    expect(condition).toContain('ROW(owner, at) <= ')
    const inVain = (leaf?.['Rows Removed by Filter'] ?? 0) + (leaf?.['Rows Removed by Index Recheck'] ?? 0)
    worst = Math.max(worst, ((leaf?.['Actual Rows'] ?? 0) * (leaf?.['Actual Loops'] ?? 1) + inVain) / size)
  }
  expect(worst, `at worst ${worst.toFixed(3)} rows were read for each one of the window`).toBeLessThanOrEqual(1.05)
  expect(worst).toBeGreaterThanOrEqual(1)
})
