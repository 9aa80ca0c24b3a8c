import { describe, expect, test } from 'vitest'
import type { OperationView } from '../../src/store/operations.ts'
import { limiterOf, progressOf } from '../../src/operations/status.ts'
import { finalStates, transitions } from '../../src/operations/states.ts'
import { judge } from '../../src/operations/verdict.ts'

describe('after an error', () => {
  const batch = { inARow: 1, errors: 0, subBatchSize: 1_000 }

  test.each([
    ['connection', batch, { kind: 'reconnect', waitMs: 200 }],
    ['connection', { ...batch, inARow: 99 }, { kind: 'reconnect', waitMs: 5_000 }],
    ['retry', batch, { kind: 'again', waitMs: 200, subBatchSize: 500 }],
    ['retry', { ...batch, inARow: 3, subBatchSize: 1 }, { kind: 'again', waitMs: 800, subBatchSize: 1 }],
    ['retry', { ...batch, inARow: 6 }, { kind: 'hold', waitMs: 30_000 }],
    ['hold', batch, { kind: 'hold', waitMs: 20_000 }],
    ['rows', batch, { kind: 'retry', waitMs: 1_000 }],
    ['rows', { ...batch, errors: 1 }, { kind: 'retry', waitMs: 2_000 }],
    ['rows', { ...batch, errors: 2 }, { kind: 'fail' }],
    ['fatal', batch, { kind: 'fail' }],
  ] as const)('%s with %o', (error, counts, verdict) => expect(judge(error, counts, 1)).toEqual(verdict))
})

describe('what limits an operation is said in words', () => {
  const view: Pick<OperationView, 'status' | 'running' | 'workers' | 'lanes' | 'hold_reason' | 'hold_until' | 'as_of'> =
    {
      status: 'active',
      running: [{ batch: 3, state: 'running', worker: 'w', leaseMs: 900 }],
      workers: 1,
      lanes: 1,
      hold_reason: null,
      hold_until: null,
      as_of: new Date(0),
    }

  test.each([
    [view, '1 of 1 lane at work'],
    [{ ...view, lanes: 4 }, '1 of 4 lanes at work'],
    [
      { ...view, running: [{ ...view.running[0], batch: 3, state: 'running', worker: 'w', leaseMs: -5 }] },
      'batch 3 waits to be taken over: its worker is gone',
    ],
    [
      { ...view, running: [{ batch: 3, state: 'ready', worker: null, leaseMs: null }] },
      'a batch waits for a free worker',
    ],
    [{ ...view, running: [] }, 'the next batch is about to be carved'],
    [{ ...view, running: [], workers: 0 }, 'no running worker knows it'],
    [{ ...view, status: 'held', hold_reason: 'disk full', hold_until: new Date(20_000) }, 'held for 20 s: disk full'],
    [{ ...view, status: 'finished' }, 'nothing, it is over'],
  ] as const)('%#: %s', (given, words) => expect(limiterOf(given as typeof view)).toBe(words))
})

test('progress is complete only at the end and unknown without an estimate', () => {
  expect(progressOf({ status: 'active', rows_seen: 50, rows_estimate: 200 })).toBe(0.25)
  expect(progressOf({ status: 'active', rows_seen: 500, rows_estimate: 200 })).toBe(0.99)
  expect(progressOf({ status: 'active', rows_seen: 500, rows_estimate: 0 })).toBeUndefined()
  expect(progressOf({ status: 'finished', rows_seen: 0, rows_estimate: 0 })).toBe(1)
})

test('every transition leads to a known state, and the end is the end', () => {
  const states = Object.keys(transitions)
  for (const next of Object.values(transitions)) for (const to of Object.keys(next)) expect(states).toContain(to)
  expect(finalStates).toEqual(['finished', 'failed'])
})
