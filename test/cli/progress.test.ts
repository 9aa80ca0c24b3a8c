import { describe, expect, test } from 'vitest'
import { renderLine } from '../../src/cli/output.ts'
import { remainingMs, remember, rowsPerSecond, type Sample } from '../../src/cli/pace.ts'
import { bar, progressBlock, progressLine, wrapFacts } from '../../src/cli/progress.ts'
import type { OperationStatus } from '../../src/index.ts'

const at = (ms: number): Date => new Date(1_700_000_000_000 + ms)

function statusOf(given: Partial<OperationStatus> = {}): OperationStatus {
  return {
    id: '0',
    name: 'expire-events',
    args: null,
    tenant: null,
    actor: null,
    state: 'active',
    table: 'public.events',
    rowsSeen: 250_000,
    rowsChanged: 150_000,
    rowsEstimate: 500_000,
    progress: 0.5,
    batchesFinished: 12,
    batches: [{ batch: 13, state: 'running', workerId: 'w', leaseMs: 2_000 }],
    limitedBy: '1 of 2 lanes at work',
    error: null,
    createdAt: at(0),
    startedAt: at(0),
    finishedAt: null,
    asOf: at(5_000),
    ...given,
  }
}

const history: readonly Sample[] = [
  { atMs: 3_000, rowsSeen: 150_000 },
  { atMs: 5_000, rowsSeen: 250_000 },
]

const block = (status: OperationStatus, width: number): string[] =>
  progressBlock(status, history, width).map((line) => renderLine(line, false))

describe('the block', () => {
  test('at 80 columns', () => {
    expect(block(statusOf(), 80)).toEqual([
      'expire-events █████████████████████████░░░░░░░░░░░░░░░░░░░░░░░░░  50 %',
      '  250,000 of ~500,000 rows seen · 150,000 changed · 50,000 rows/s',
      '  about 5 s left',
      '  limited by: 1 of 2 lanes at work',
    ])
  })

  test('at 40 columns', () => {
    expect(block(statusOf(), 40)).toEqual([
      'expire-events ██████████░░░░░░░░░░  50 %',
      '  250,000 of ~500,000 rows seen',
      '  150,000 changed · 50,000 rows/s',
      '  about 5 s left',
      '  limited by: 1 of 2 lanes at work',
    ])
  })

  test.each([20, 33, 40, 59, 80, 200])('never exceeds %i columns', (width) => {
    const status = statusOf({ name: 'a-name-that-is-long'.repeat(5), limitedBy: 'held: '.repeat(60) })
    for (const line of block(status, width)) expect(line.length).toBeLessThanOrEqual(width)
  })

  test('without an estimate has no bar', () => {
    expect(block(statusOf({ rowsEstimate: 0, progress: undefined }), 80)).toEqual([
      'expire-events active',
      '  250,000 rows seen · 150,000 changed · 50,000 rows/s',
      '  limited by: 1 of 2 lanes at work',
    ])
  })

  test('at the end is limited by nothing', () => {
    const over = statusOf({ state: 'finished', progress: 1, finishedAt: at(9_000) })
    expect(block(over, 80).join('\n')).not.toMatch(/limited|left/)
    expect(block(over, 80)[0]).toContain('100 %')
  })

  test('shows control characters of names instead of obeying them', () => {
    expect(block(statusOf({ name: 'a\u001B[2Jb' }), 80)[0]).toMatch(/^a\\u001b\[2Jb /)
  })
})

test('one line says the same', () => {
  expect(progressLine(statusOf(), history)).toBe(
    'expire-events 50 %: 250,000 of ~500,000 rows seen, 150,000 changed, 50,000 rows/s, about 5 s left, 1 of 2 lanes at work',
  )
})

test.each([
  [0, 4, '░░░░'],
  [0.5, 4, '██░░'],
  [0.99, 4, '███░'],
  [1, 4, '████'],
  [7, 4, '████'],
  [-1, 4, '░░░░'],
])('a bar of %d in %i columns is %s', (progress, length, text) => {
  expect(bar(progress, length).join('')).toBe(text)
})

test.each([
  [['aa', 'bb', 'cc'], 7, ['aa · bb', 'cc']],
  [['aa', 'bb', 'cc'], 12, ['aa · bb · cc']],
  [['aaaaaa', 'b'], 4, ['aaaa', 'b']],
  [[], 4, []],
])('%j in %i columns', (parts, width, lines) => {
  expect(wrapFacts(parts, width)).toEqual(lines)
})

test.each([
  ['too early to tell', [{ atMs: 0, rowsSeen: 0 }], undefined],
  ['two looks', history, 50_000],
  [
    'a standstill',
    [
      { atMs: 0, rowsSeen: 5 },
      { atMs: 2_000, rowsSeen: 5 },
    ],
    0,
  ],
  [
    'looks too close',
    [
      { atMs: 0, rowsSeen: 0 },
      { atMs: 100, rowsSeen: 5 },
    ],
    undefined,
  ],
  [
    'counts that went back',
    [
      { atMs: 0, rowsSeen: 9 },
      { atMs: 1_000, rowsSeen: 5 },
    ],
    0,
  ],
])('rows per second: %s', (_, samples, rate) => {
  expect(rowsPerSecond(samples)).toBe(rate)
})

test('samples older than a few seconds are forgotten, and an equal moment counts once', () => {
  let samples: readonly Sample[] = []
  for (let second = 0; second < 10; second++)
    samples = remember(samples, { asOf: at(second * 1_000), rowsSeen: 1 + second })
  expect(samples.map(({ rowsSeen }) => rowsSeen)).toEqual([6, 7, 8, 9, 10])
  expect(remember(samples, { asOf: at(9_000), rowsSeen: 10 })).toHaveLength(5)
})

test('the wait before the first row does not count', () => {
  const waiting = remember(remember([], { asOf: at(0), rowsSeen: 0 }), { asOf: at(1_000), rowsSeen: 0 })
  expect(rowsPerSecond(remember(waiting, { asOf: at(2_000), rowsSeen: 500 }))).toBe(500)
})

test.each([
  [100, 200, 50, 2_000],
  [200, 200, 50, undefined],
  [100, 0, 50, undefined],
  [100, 200, 0, undefined],
  [100, 200, undefined, undefined],
])('%i of %i rows at %s rows/s: %s ms left', (rowsSeen, rowsEstimate, rate, left) => {
  expect(remainingMs({ rowsSeen, rowsEstimate }, rate)).toBe(left)
})
