import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { defineOperation, Sluice } from '../../src/index.ts'
import {
  etaOf,
  isPastEstimate,
  landmarksOf,
  placeOf,
  remainingRows,
  rowsPerBusySecond,
  utilisation,
  type Place,
} from '../../src/operations/progress.ts'
import { progressOf } from '../../src/operations/status.ts'
import { testDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'

const started_at = new Date('2026-01-01T00:00:00Z')
const after = (seconds: number): Date => new Date(started_at.getTime() + seconds * 1_000)

describe('the place of an operation', () => {
  const bounds = { lower_key: null, carve_end: ['9', 'z'], carved_to: ['5', 'x'] }
  const batch = { batch: 1, state: 'running' as const, worker: null, leaseMs: null }

  test('is told by the leading parts of its bounds and of the keys where its batches stand', () => {
    expect(landmarksOf({ ...bounds, running: [] })).toEqual([null, '9', '5'])
    const running = [
      { ...batch, at: null },
      { ...batch, at: ['3', 'y'] },
    ]
    expect(landmarksOf({ ...bounds, running })).toEqual([null, '9', null, '3'])
  })

  test.each([
    ['as far as its slowest batch', [0, 1, 0.5, 0.2, 0.4], { from: 0, at: 0.2, to: 1 }],
    ['never before its beginning', [0.3, 1, 0], { from: 0.3, at: 0.3, to: 1 }],
    ['never behind its end', [0, 0.6, 0.7], { from: 0, at: 0.6, to: 0.6 }],
    ['up to the end of the table when it has no end yet', [0.1, 0, 0.5], { from: 0.1, at: 0.5, to: 1 }],
  ])('is %s', (_, shares, place) => {
    expect(placeOf({ rows: 1_000, shares })).toEqual({ rows: 1_000, ...place })
  })
})

const place = (at: number, given: Partial<Place> = {}): Place => ({ rows: 1_000, from: 0, to: 1, at, ...given })

describe('remaining rows', () => {
  test.each([
    ['are unknown without estimate and histogram', 500, 0, undefined, undefined],
    ['are the rest of the estimate without a histogram', 400, 1_000, undefined, 600],
    ['are none past the estimate', 1_400, 1_000, undefined, 0],
    ['are those ahead in the histogram without an estimate', 500, 0, place(0.25), 750],
    ['are the same by both when both agree', 400, 1_000, place(0.4), 600],
    ['lean to the histogram when they differ', 600, 1_000, place(0.4), 0.7 * 600 + 0.3 * 400],
    ['go on past the estimate while the histogram has rows ahead', 1_500, 1_000, place(0.9), 70],
    ['are only those of the operation’s own part', 100, 1_000, place(0.5, { from: 0.4, to: 0.6 }), 100],
    ['fit newer statistics of a table that has shrunk', 500, 1_000, place(0, { rows: 500 }), 500],
  ])('%s', (_, rows_seen, rows_estimate, given, expected) => {
    const found = remainingRows({ rows_seen, rows_estimate }, given)
    if (expected === undefined) expect(found).toBeUndefined()
    else expect(found).toBeCloseTo(expected, 6)
  })
})

test.each([
  ['active', 400, 1_000, undefined, 1, 0.4],
  ['active', 5_000, 1_000, undefined, 1, 0.99],
  ['active', 5_000, 1_000, 5_000, 1, 0.5],
  ['active', 1_000, 1_000, 0, 1, 0.99],
  ['active', 500, 0, undefined, 1, undefined],
  ['active', 500, 0, 1_500, 1, 0.25],
  ['active', 0, 1_000, 0, 1, undefined],
  ['verifying', 400, 1_000, 900, 2, 0.99],
  ['finished', 0, 0, undefined, 1, 1],
  ['finished_with_quarantine', 3, 9, undefined, 2, 1],
] as const)(
  'progress when %s with %i of %i rows seen and %s left in pass %i is %s',
  (status, rows_seen, rows_estimate, left, pass, progress) => {
    expect(progressOf({ status, rows_seen, rows_estimate, pass }, left)).toBe(progress)
  },
)

test('the estimate is passed when more rows were seen than it had', () => {
  expect(isPastEstimate({ rows_seen: 11, rows_estimate: 10 })).toBe(true)
  expect(isPastEstimate({ rows_seen: 10, rows_estimate: 10 })).toBe(false)
  expect(isPastEstimate({ rows_seen: 10, rows_estimate: 0 })).toBe(false)
})

test('the rate is rows per second of work', () => {
  expect(rowsPerBusySecond({ rows_seen: 3_000, busy_ms: 1_500 })).toBe(2_000)
  expect(rowsPerBusySecond({ rows_seen: 3_000, busy_ms: 0 })).toBeUndefined()
})

test.each([
  ['half of the time', 30_000, 1, 60, 0.5],
  ['one lane of two', 60_000, 2, 60, 0.5],
  ['never more than all of it', 180_000, 1, 60, 1],
  ['nothing before it started', 0, 1, 0, 0],
])('utilisation: %s', (_, busy_ms, lanes, seconds, share) => {
  expect(utilisation({ busy_ms, lanes, started_at, as_of: after(seconds) })).toBe(share)
})

describe('the rest takes', () => {
  const work = { rows_seen: 1_000, sub_batches: 10, busy_ms: 5_000, lanes: 1, started_at, as_of: after(10) }
  const spread = Math.exp(1.28 * 0.35)

  test.each([
    ['as long as so far for as many rows', work, 1_000, 10_000],
    ['half as long for half of the rows', work, 500, 5_000],
    ['as long with lanes whose busy time adds up', { ...work, lanes: 4, busy_ms: 30_000 }, 1_000, 10_000],
    ['longer when holds made up most of the time', { ...work, as_of: after(100) }, 1_000, 100_000],
    ['longer once lanes were taken away', { ...work, busy_ms: 40_000 }, 1_000, 40_000],
  ])('%s', (_, given, remaining, ms) => {
    const eta = etaOf(given, { remaining, progress: 0.5 })
    expect(eta).toEqual({ lowMs: Math.round(ms / spread), highMs: Math.round(ms * spread) })
  })

  test.each([
    ['before 10 sub-batches and 0.1 % of the rows', { ...work, sub_batches: 9 }, 1_000, 0.0009],
    ['without an estimate', work, undefined, undefined],
    ['when nothing should be left', work, 0, 0.99],
    ['when no work was measured', { ...work, busy_ms: 0 }, 1_000, 0.5],
    ['before the start', { ...work, started_at: null }, 1_000, 0.5],
  ])('nobody knows how long %s', (_, given, remaining, progress) => {
    expect(etaOf(given, { remaining, progress })).toBeUndefined()
  })

  test('is told after 10 sub-batches or 0.1 % of the rows, whichever comes first', () => {
    expect(etaOf({ ...work, sub_batches: 1 }, { remaining: 9, progress: 0.001 })).toBeDefined()
    expect(etaOf(work, { remaining: 9, progress: 0.0001 })).toBeDefined()
  })
})

test('a running operation tells its progress and the rest by the statistics of its table', async () => {
  await using db = await testDatabase()
  await db.query('create table walked (k uuid primary key)')
  await db.query('insert into walked select md5(n::text)::uuid from generate_series(1, 10000) n')
  let subBatches = 0
  let looked = false
  const definition = defineOperation({
    name: 'slow-walk',
    table: 'walked',
    subBatchSize: 500,
    async perform() {
      subBatches += 1
      await sleep(5)
      if (subBatches > 12) await until('somebody has looked', () => looked)
    },
  })
  await using sluice = new Sluice({ worker: { poll: '50ms' }, database: db.workerUrl, operations: [definition] })
  const { id } = await sluice.operations.start(definition)
  expect(await sluice.operations.get(id)).toMatchObject({ progress: undefined, eta: undefined, pastEstimate: false })
  await sluice.start()
  await until('the walk stands in the middle', () => subBatches > 12)

  expect(await sluice.operations.get(id)).toMatchObject({ rowsEstimate: 0, progress: undefined, eta: undefined })
  await db.query('analyze walked')
  const status = await sluice.operations.get(id)
  const [listed] = await sluice.operations.list()

  expect(status.rowsSeen).toBeGreaterThan(1_000)
  expect(Math.abs((status.progress ?? 0) - status.rowsSeen / 10_000)).toBeLessThan(0.02)
  expect(status.eta?.lowMs).toBeGreaterThan(0)
  expect((status.eta?.highMs ?? 0) / (status.eta?.lowMs ?? 1)).toBeCloseTo(Math.exp(2 * 1.28 * 0.35), 0)
  expect(listed).toMatchObject({ id, progress: undefined, eta: undefined })

  looked = true
  expect(await sluice.operations.wait(id, { everyMs: 20 })).toMatchObject({
    state: 'finished',
    progress: 1,
    eta: undefined,
  })
})
