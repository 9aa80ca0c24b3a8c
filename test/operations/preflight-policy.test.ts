import { describe, expect, test } from 'vitest'
import type { DryRun, PlanFinding, PlanNode } from '../../src/targets/findings.ts'
import { estimate } from '../../src/operations/preflight/estimate.ts'
import { forcedReason, throwRefusal } from '../../src/operations/preflight/finding.ts'
import { judgeScan, readsTooMuch, sortAccesses, type Judged } from '../../src/targets/postgres/preflight/scan.ts'
import { accessesOf, isFoundBy, type Access } from '../../src/targets/postgres/explain.ts'

const access = (more: Partial<Access>): Access => ({
  schema: 'public',
  relation: 't',
  how: 'index',
  indexes: ['t_pkey'],
  condition: '',
  rowsRead: 0,
  ...more,
})

test.each([
  ['(t.id > 5)', 'id', true],
  ['((id > 5) AND (id <= 9))', 'id', true],
  ['(ROW(t.owner, t.id) > ROW(1, 2))', 'owner', true],
  ['(t.other_id > 5)', 'id', false],
  ["(t.name > 'id'::text)", 'id', false],
  ["(t.name > 'it''s id'::text)", 'id', false],
  ['(t."The Key" > 5)', 'The Key', true],
  ['(t."The Key too" > 5)', 'The Key', false],
])('rows found by %s are found by %s: %s', (condition, column, found) => {
  expect(isFoundBy(access({ condition }), column)).toBe(found)
})

test('a plan tells how each table is read', () => {
  const plan: PlanNode = {
    'Node Type': 'ModifyTable',
    'Relation Name': 't',
    Plans: [
      {
        'Node Type': 'Bitmap Heap Scan',
        Schema: 'public',
        'Relation Name': 't',
        'Recheck Cond': '(id > 5)',
        'Actual Rows': 3,
        'Actual Loops': 2,
        'Rows Removed by Filter': 4,
        Plans: [{ 'Node Type': 'BitmapAnd', Plans: [{ 'Node Type': 'Bitmap Index Scan', 'Index Name': 'a' }] }],
      },
      { 'Node Type': 'Seq Scan', Schema: 'public', 'Relation Name': 'u' },
    ],
  }
  expect(accessesOf(plan)).toMatchObject([
    { relation: 't', how: 'bitmap', indexes: ['a'], condition: '(id > 5)', rowsRead: 14 },
    { relation: 'u', how: 'scan', indexes: [] },
  ])
  const { byCursor, others } = sortAccesses(accessesOf(plan), [{ schema: 'public', name: 't' }], 'id')
  expect({ byCursor, others: others.map(({ relation }) => relation) }).toEqual({ byCursor: true, others: ['u'] })
})

describe('a plan that does not find rows by the cursor', () => {
  const judged: Judged = {
    statement: 'work',
    table: 'public.t',
    cursor: ['id'],
    rowsRead: 1_000_000,
    rowsInWindow: 1_000,
    rowsExpected: 500_000,
    provable: true,
    analyzed: true,
  }

  test.each([
    ['refused, when the planner is misled', {}, 'refuse'],
    ['a warning, when it could not know better', { analyzed: false }, 'warn'],
    ['fine, when the planner knows what it does', { rowsExpected: 1_200 }, undefined],
    ['fine, when the table is small', { rowsRead: 9_000, rowsInWindow: 10, rowsExpected: 9_000 }, undefined],
    ['fine, when the window is a good part of the table', { rowsRead: 15_000, rowsInWindow: 2_000 }, undefined],
    ['left to its own limit, when it is the carve', { statement: 'carve' }, undefined],
    ['refused, when no index could do it', { provable: false, rowsExpected: 5 }, 'refuse'],
    [
      'fine, when it could not, and there is hardly a row',
      { provable: false, rowsRead: 5, rowsExpected: 5 },
      undefined,
    ],
    ['refused, when no index could do it, also for the carve', { provable: false, statement: 'carve' }, 'refuse'],
  ] as const)('is %s', (_, more, severity) => {
    expect(judgeScan({ ...judged, ...more })?.severity).toBe(severity)
  })

  test('reads too much only beyond both limits', () => {
    expect([readsTooMuch(10_000, 1), readsTooMuch(10_001, 1), readsTooMuch(20_000, 2_000)]).toEqual([
      false,
      true,
      false,
    ])
  })
})

describe('a refusal', () => {
  const finding: PlanFinding = {
    check: 'scan',
    severity: 'refuse',
    code: 'PLAN_SCANS',
    what: 'A',
    why: 'B',
    remedy: 'C',
  }

  test('says what, why and what to do, and that it can be forced', () => {
    expect(() => throwRefusal('x', [finding, { ...finding, what: 'D' }])).toThrow(
      '"x" was not started: A. B. C. Also: D. With "force" it starts all the same.',
    )
    expect(() => throwRefusal('x', [{ ...finding, severity: 'warn' }])).not.toThrow()
  })

  test('that was forced is told', () => {
    expect(forcedReason([finding, { ...finding, severity: 'note' }])).toBe('started by force, although A')
    expect(forcedReason([{ ...finding, severity: 'warn' }])).toBeNull()
  })
})

describe('an estimate', () => {
  const sizes = { batchSize: 50_000, subBatchSize: 1_000, lanes: 2 }
  const window = { lower: null, upper: ['1'], rows: 1_000, matched: 250, elapsedMs: 10 }
  const prospect = {
    windows: [window, { ...window, matched: 750 }],
    complete: false,
    see: 100_000,
    expected: 7,
    tableBytes: 1_000_000,
  }
  const run: DryRun = {
    rowsMatched: 500,
    rowsChanged: 500,
    elapsedMs: 50,
    walBytes: 50_000,
    updated: 0,
    hot: 0,
    deleted: 500,
    others: [],
    rows: [],
  }

  test('multiplies what samples and the dry run have shown', () => {
    expect(estimate(prospect, sizes, run)).toEqual({
      rowsToSee: 100_000,
      rowsToChange: 50_000,
      by: 'samples',
      sampled: { windows: 2, rows: 2_000, matched: 1_000 },
      batches: 2,
      tableBytes: 1_000_000,
      bytesToChange: 500_000,
      walBytes: 5_000_000,
      // 1 s to look, 5 s to change, 0.4 s for transactions: 6.4 s, at best 0.7 of that in two lanes, at worst 3 times.
      durationMs: { from: 2_240, to: 19_200 },
    })
  })

  test('asks the planner where samples have met nothing', () => {
    const nothing = { ...prospect, windows: [{ ...window, matched: 0 }] }
    expect(estimate(nothing, sizes, undefined)).toMatchObject({ by: 'planner', rowsToChange: 7, walBytes: null })
  })

  test('believes in what was read from end to end', () => {
    const all = { ...prospect, complete: true, windows: [{ ...window, rows: 40, matched: 30 }] }
    expect(estimate(all, sizes, undefined)).toMatchObject({
      rowsToSee: 40,
      rowsToChange: 30,
      by: 'samples',
      batches: 1,
    })
  })
})
