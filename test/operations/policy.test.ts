import { describe, expect, test } from 'vitest'
import { limiterOf, progressOf } from '../../src/operations/status.ts'
import { finalStates, transitions, verbs } from '../../src/operations/states.ts'
import { fingerprintOf, remember, tripReason, type Outcomes } from '../../src/operations/breaker.ts'
import { judge } from '../../src/operations/verdict.ts'

describe('after an error', () => {
  const run = { inARow: 1, onOneRow: 0, subBatchSize: 1_000 }

  test.each([
    ['connection', run, { kind: 'reconnect', waitMs: 200 }],
    ['connection', { ...run, inARow: 99 }, { kind: 'reconnect', waitMs: 5_000 }],
    ['retry', run, { kind: 'again', waitMs: 200, subBatchSize: 500 }],
    ['retry', { ...run, inARow: 3, subBatchSize: 1 }, { kind: 'again', waitMs: 800, subBatchSize: 1 }],
    ['retry', { ...run, inARow: 6 }, { kind: 'hold', waitMs: 30_000 }],
    ['locked', run, { kind: 'again', waitMs: 0, subBatchSize: 125 }],
    ['locked', { ...run, subBatchSize: 7 }, { kind: 'again', waitMs: 0, subBatchSize: 1 }],
    ['locked', { ...run, inARow: 12, subBatchSize: 1 }, { kind: 'again', waitMs: 5_000, subBatchSize: 1 }],
    ['locked', { ...run, inARow: 13, subBatchSize: 1 }, { kind: 'hold', waitMs: 30_000 }],
    ['hold', run, { kind: 'hold', waitMs: 20_000 }],
    ['rows', run, { kind: 'again', waitMs: 0, subBatchSize: 500 }],
    ['rows', { ...run, subBatchSize: 3 }, { kind: 'again', waitMs: 0, subBatchSize: 1 }],
    ['rows', { inARow: 11, onOneRow: 1, subBatchSize: 1 }, { kind: 'again', waitMs: 100, subBatchSize: 1 }],
    ['rows', { inARow: 13, onOneRow: 3, subBatchSize: 1 }, { kind: 'quarantine' }],
    ['fatal', run, { kind: 'fail' }],
  ] as const)('%s with %o', (error, counts, verdict) => expect(judge(error, counts, 1)).toEqual(verdict))
})

const after = (...outcomes: string[]): string | undefined =>
  tripReason(outcomes.reduce<Outcomes>((past, outcome) => remember(past, outcome), []))
const times = (n: number, outcome: string): string[] => Array.from({ length: n }, () => outcome)
const fingerprint = (message: string): string => fingerprintOf({ name: 'error', code: '23505', message })

describe('the circuit breaker', () => {
  test('lets a few bad rows pass', () => {
    expect(after('a')).toBeUndefined()
    expect(after(...times(20, 'ok'), 'a', 'b', ...times(18, 'ok'), 'a')).toBeUndefined()
    expect(after(...times(4, 'a'), 'ok')).toBeUndefined()
  })

  test('trips on rows that fail one after the other for the same reason', () => {
    expect(after(...times(100, 'ok'), ...times(5, 'a'))).toContain('5 rows in a row')
  })

  test('trips when far too many of the last ones failed, for whatever reason', () => {
    expect(after(...Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? 'ok' : `e${i}`)))).toContain(
      '20 of the last 40',
    )
  })

  test('knows errors that differ in their values only as one', () => {
    expect(fingerprint('Key (id)=(7) already exists')).toBe(fingerprint('Key (id)=(12345) already exists'))
    expect(fingerprint(`column "a" is bad`)).toBe(fingerprint(`column "b" is bad`))
    expect(fingerprint('something else')).not.toBe(fingerprint('Key (id)=(7) already exists'))
  })
})

describe('what limits an operation is said in words', () => {
  const batch = { batch: 3, state: 'running', worker: 'w', leaseMs: 900, at: null }
  const view = {
    status: 'active',
    running: [batch],
    workers: 1,
    lanes: 1,
    limited_by: null,
    pace: 1,
    reason: null,
    hold_until: null,
    disabled: false,
    as_of: new Date(0),
  }

  test.each([
    [view, '1 of 1 lane at work'],
    [{ ...view, lanes: 4, pace: 0.25 }, '1 of 4 lanes at work at a pace of 25 %'],
    [{ ...view, running: [{ ...batch, leaseMs: -5 }] }, 'batch 3 waits to be taken over: its worker is gone'],
    [{ ...view, running: [{ ...batch, state: 'ready', worker: null }] }, 'a batch waits for a free worker'],
    [{ ...view, running: [] }, 'the next batch is about to be carved'],
    [{ ...view, status: 'queued', running: [] }, 'waits for its turn'],
    [{ ...view, running: [], workers: 0 }, 'parked: no running worker knows it'],
    [{ ...view, status: 'held', reason: 'disk full', hold_until: new Date(20_000) }, 'held for 20 s: disk full'],
    [{ ...view, status: 'paused', reason: 'lunch' }, 'paused: lunch'],
    [{ ...view, status: 'awaiting_approval' }, 'waits for approval'],
    [{ ...view, disabled: true }, 'its definition is disabled'],
    [{ ...view, status: 'finished_with_quarantine' }, 'nothing, it is over'],
  ] as const)('%#: %s', (given, words) => expect(limiterOf(given as Parameters<typeof limiterOf>[0])).toBe(words))
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
  for (const from of Object.values(verbs).flat()) expect(states).toContain(from)
  for (const end of finalStates) expect(Object.keys(transitions[end]).filter((to) => to !== 'queued')).toEqual([])
})
