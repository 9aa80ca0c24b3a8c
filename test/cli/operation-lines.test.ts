import { describe, expect, test } from 'vitest'
import { limitLines } from '../../src/cli/limit-lines.ts'
import { sentenceLine, statusLines } from '../../src/cli/operation-lines.ts'
import { operationTable } from '../../src/cli/operation-table.ts'
import { renderLine, type Line } from '../../src/cli/output.ts'
import { groupRanges, groupTable, rangeTable } from '../../src/cli/quarantine-lines.ts'
import type { OperationStatus, QuarantinedRange } from '../../src/index.ts'
import { at, statusOf } from './status.ts'

const text = (lines: readonly Line[]): string[] => lines.map((line) => renderLine(line, false))

const id = '01a1e28b-0961-709c-aa51-0849827fe214'
const ended = { finishedAt: at(4_000), limitedBy: 'nothing, it is over' }

const sentences: [Partial<OperationStatus>, string][] = [
  [{}, '✓ expire-events is walking public.events: 1 of 2 lanes at work'],
  [{ state: 'verifying' }, '✓ expire-events is verifying public.events: 1 of 2 lanes at work'],
  [{ state: 'queued', limitedBy: 'waits for its turn' }, '✓ expire-events is queued: waits for its turn'],
  [{ state: 'paused', limitedBy: 'paused: a\nreport' }, '! expire-events is paused: a report'],
  [{ state: 'held', limitedBy: 'held for 3.0 s: no disk' }, '! expire-events is held for 3.0 s: no disk'],
  [{ state: 'pausing', limitedBy: 'is about to pause' }, '! expire-events is about to pause'],
  [{ state: 'awaiting_approval', limitedBy: 'waits for approval' }, '! expire-events waits for approval'],
  [
    { state: 'paused', disabled: true, limitedBy: 'its definition is disabled' },
    '! expire-events is paused, and its definition is disabled',
  ],
  [{ ...ended, state: 'finished' }, '✓ expire-events finished: 150,000 of 250,000 rows changed in 4.0 s'],
  [
    { ...ended, state: 'finished_with_quarantine', rowsQuarantined: 1 },
    '! expire-events finished with quarantine: 150,000 of 250,000 rows changed in 4.0 s, 1 row could not be processed',
  ],
  [
    { ...ended, state: 'failed', error: { name: 'E', message: 'no\ntable' } },
    '✗ expire-events failed after 4.0 s: no table',
  ],
  [{ ...ended, state: 'cancelled' }, '! expire-events was cancelled after 4.0 s: 150,000 rows changed before'],
]

test.each(sentences)('%j is said in a sentence', (given, sentence) => {
  expect(text([sentenceLine(statusOf(given))])).toEqual([sentence])
})

test('a status in full', () => {
  const status = statusOf({ id, reason: 'resumed', actor: 'ann', rowsSkipped: 2, rowsQuarantined: 3 })
  expect(text(statusLines(status))).toEqual([
    'expire-events is walking public.events: 1 of 2 lanes at work',
    `  id        ${id}`,
    '  state     active, 50 %',
    '  reason    resumed',
    '  table     public.events',
    '  walk      along the key (id)',
    '  args      none',
    '  owner     system, started by ann',
    '  rows      250,000 of about 500,000 seen, 150,000 matched',
    '  of these  150,000 changed, 2 skipped, 3 quarantined',
    '  limits    priority normal, 2 lanes, pace 100 %, up to 100 rows per sub-batch',
    '  batches   12 finished, 1 open',
    '  time      begun 2023-11-14T22:13:20Z, 5.0 s ago',
  ])
})

test.each([50, 60, 80])('a status wraps between words at %i columns', (width) => {
  for (const line of text(statusLines(statusOf({ id }), width))) expect(line.length).toBeLessThanOrEqual(width)
})

describe('the table of operations', () => {
  const operations = [
    statusOf({ id, tenant: 'acme', state: 'awaiting_approval', progress: undefined, startedAt: null }),
    statusOf({ id, name: 'anonymise-inactive-accounts', parked: true, state: 'queued', rowsChanged: 0 }),
    statusOf({ id, state: 'finished_with_quarantine', progress: 1, finishedAt: at(4_500), rowsChanged: 1_234_567 }),
  ]

  test('in a pipe is whole', () => {
    expect(text(operationTable(operations))).toEqual([
      'id                                    name                         tenant  state                      done    changed  since',
      `${id}  expire-events                acme    awaiting approval             –    150,000    5 s`,
      `${id}  anonymise-inactive-accounts  –       queued, parked             50 %          0    5 s`,
      `${id}  expire-events                –       finished with quarantine  100 %  1,234,567    now`,
    ])
  })

  test('at 100 columns has all columns', () => {
    expect(text(operationTable(operations, 100))).toEqual([
      'id                                    name             tenant  state          done    changed  since',
      `${id}  expire-events    acme    awaiting ap…      –    150,000    5 s`,
      `${id}  anonymise-inac…  –       queued, par…   50 %          0    5 s`,
      `${id}  expire-events    –       finished wi…  100 %  1,234,567    now`,
    ])
  })

  test('at 60 columns says what, and in which state', () => {
    expect(text(operationTable(operations, 60))).toEqual([
      'id                                    name          state',
      `${id}  expire-even…  awaitin…`,
      `${id}  anonymise-i…  queued,…`,
      `${id}  expire-even…  finishe…`,
    ])
  })

  test.each([60, 72, 80, 100, 120])('never exceeds %i columns', (width) => {
    for (const line of text(operationTable(operations, width))) expect(line.length).toBeLessThanOrEqual(width)
  })

  test('without tenants has no column for them', () => {
    expect(text(operationTable([statusOf({ id })]))[0]).not.toContain('tenant')
  })
})

const rangeOf = (given: Partial<QuarantinedRange>): QuarantinedRange => ({
  id: '1',
  operation_id: id,
  seq: 3,
  lower_key: ['41'],
  upper_key: ['42'],
  rows: 1,
  error: { name: 'error', message: 'division\n by zero', code: '22012' },
  fingerprint: 'a',
  retried_at: null,
  quarantined_at: at(0),
  ...given,
})

const other = { error: { name: 'WorkerDied', message: 'the worker died 3 times' }, fingerprint: 'b' }

describe('quarantined ranges', () => {
  const ranges = [
    rangeOf({}),
    rangeOf({ ...other, rows: 50, lower_key: ['2023', '1'], upper_key: ['2024', '7'] }),
    rangeOf({ upper_key: ['99'] }),
  ]

  test('one by one', () => {
    expect(text(rangeTable(ranges, at(9_000)))).toEqual([
      'key                        rows  batch  since  error',
      '42                            1      3    9 s  division by zero (22012)',
      '(2023, 1) < … ≤ (2024, 7)    50      3    9 s  the worker died 3 times',
      '99                            1      3    9 s  division by zero (22012)',
    ])
  })

  test('by error', () => {
    expect(text(groupTable(groupRanges(ranges), 46))).toEqual([
      '  quarantined  first key  error',
      '           50  (2024, 7)  the worker died 3 t…',
      '            2  42         division by zero (2…',
    ])
  })
})

test('changed limits, old and new', () => {
  const limits = { pace: 0.5, lanes: 2, subBatchSize: 2_000 }
  expect(text(limitLines(statusOf(), statusOf(limits), limits))).toEqual([
    'expire-events',
    '  lanes           2, as before',
    '  pace            100 % → 50 %',
    '  sub-batch size  100 → 2,000',
  ])
})
