import { describe, expect, test } from 'vitest'
import { renderLine } from '../../src/cli/output.ts'
import { remember, rowsPerSecond, timeLeft, type Sample } from '../../src/cli/pace.ts'
import { bar, progressBlock, progressLine, wrapFacts } from '../../src/cli/progress.ts'
import type { OperationStatus } from '../../src/index.ts'
import { at, statusOf } from './status.ts'

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
      '  4 s to 8 s left',
      '  limited by: 1 of 2 lanes at work',
    ])
  })

  test('at 40 columns', () => {
    expect(block(statusOf(), 40)).toEqual([
      'expire-events ██████████░░░░░░░░░░  50 %',
      '  250,000 of ~500,000 rows seen',
      '  150,000 changed · 50,000 rows/s',
      '  4 s to 8 s left',
      '  limited by: 1 of 2 lanes at work',
    ])
  })

  test.each([20, 33, 40, 59, 80, 200])('never exceeds %i columns', (width) => {
    const status = statusOf({ name: 'a-name-that-is-long'.repeat(5), limitedBy: 'held: '.repeat(60) })
    for (const line of block(status, width)) expect(line.length).toBeLessThanOrEqual(width)
  })

  test('without an estimate has no bar', () => {
    expect(block(statusOf({ rowsEstimate: 0, progress: undefined, eta: undefined }), 80)).toEqual([
      'expire-events active',
      '  250,000 rows seen · 150,000 changed · 50,000 rows/s',
      '  limited by: 1 of 2 lanes at work',
    ])
  })

  test('at the end is limited by nothing', () => {
    const over = statusOf({ state: 'finished', progress: 1, eta: undefined, finishedAt: at(9_000) })
    expect(block(over, 80).join('\n')).not.toMatch(/limited|left/)
    expect(block(over, 80)[0]).toContain('100 %')
  })

  test('shows control characters of names instead of obeying them', () => {
    expect(block(statusOf({ name: 'a\u001B[2Jb' }), 80)[0]).toMatch(/^a\\u001b\[2Jb /)
  })
})

test.each([
  ['paused', 'paused: the nightly report', 'paused · 250,000 of ~500,000 rows seen'],
  ['held', 'held for 4.0 s: no disk', 'held · 250,000 of ~500,000 rows seen'],
  ['verifying', '1 of 2 lanes at work', 'verifying · 250,000 of ~500,000 rows seen'],
  ['awaiting_approval', 'waits for approval', 'awaiting approval · 250,000 of ~500,000 rows seen'],
] as const)('the block says that an operation is %s, and why', (state, limitedBy, fact) => {
  const [, facts, ...rest] = block(statusOf({ state, limitedBy }), 100)
  expect(facts).toContain(fact)
  expect(rest.at(-1)).toBe(`  limited by: ${limitedBy}`)
})

test('one line says the same', () => {
  expect(progressLine(statusOf(), history)).toBe(
    'expire-events 50 %: 250,000 of ~500,000 rows seen, 150,000 changed, 50,000 rows/s, 4 s to 8 s left, 1 of 2 lanes at work',
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
  [{ lowMs: 3_100, highMs: 7_800 }, '4 s to 8 s left'],
  [{ lowMs: 400, highMs: 900 }, 'about 1 s left'],
  [{ lowMs: 725_000, highMs: 1_800_000 }, '12 min 5 s to 30 min left'],
  [undefined, undefined],
])('the time left of %o is told as %s', (eta, words) => expect(timeLeft({ eta })).toBe(words))

test('a walk past its estimate says so', () => {
  const past = statusOf({ rowsSeen: 600_000, pastEstimate: true })
  expect(block(past, 100)[1]).toContain('600,000 rows seen, past the estimate of ~500,000')
})
