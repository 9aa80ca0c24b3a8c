import { describe, expect, test } from 'vitest'
import { after, verdictOn, type Standing, type Verdict } from '../../../src/observe/alerts/hysteresis.ts'
import { resolveAlerts } from '../../../src/observe/alerts/options.ts'
import {
  judgeOperation,
  judgeQueue,
  judgeSchedule,
  type AlertRule,
  type Judgement,
} from '../../../src/observe/alerts/rules.ts'
import { trendOf } from '../../../src/observe/alerts/trend.ts'
import { count } from '../../../src/observe/samples/histogram.ts'
import type { QueueSampleRow } from '../../../src/store/samples.ts'

const limits = resolveAlerts().queue('billing')

interface Moment {
  depth?: number | null
  waitMs?: number
  died?: number
  oldestMs?: number
}

/** Samples of ten seconds each, for so many minutes; the course says what is so at a minute. */
function series(minutes: number, course: (minute: number) => Moment): QueueSampleRow[] {
  return Array.from({ length: minutes * 6 + 1 }, (_, n) => {
    const { depth = 0, waitMs, died = 0, oldestMs = null } = course(n / 6)
    const wait: number[] = []
    if (waitMs !== undefined) count(wait, waitMs, 20)
    const counts = { enqueued: 0, started: 0, finished: 0, failed: 0, died, run: [] }
    return { queue: 'billing', at: new Date(n * 10_000), ...counts, wait, depth, oldestMs: oldestMs }
  })
}

const judged = (rule: AlertRule, samples: readonly QueueSampleRow[]): Judgement | undefined =>
  judgeQueue('billing', samples, limits).find((judgement) => judgement.rule === rule)

describe('a trend', () => {
  test('is the line through points', () => {
    const points = [0, 1, 2, 3].map((n) => ({ atMs: n * 60_000, value: 10 + 5 * n }))
    expect(trendOf(points, 2)).toEqual({ perMinute: 5, now: 25, mean: 17.5, fit: 1 })
  })

  test('needs points, and time between them', () => {
    expect(trendOf([{ atMs: 0, value: 1 }])).toBeUndefined()
    expect(trendOf(Array.from({ length: 9 }, () => ({ atMs: 5, value: 1 })))).toBeUndefined()
  })
})

describe('the growth of a queue', () => {
  test('breaks its rule at ten percent a minute', () => {
    const found = judged(
      'queue-growth',
      series(5, (minute) => ({ depth: 5_000 * 1.1 ** minute })),
    )
    expect(found).toMatchObject({ verdict: 'broken', threshold: 5 })
    expect(found?.value).toBeGreaterThan(9)
    expect(found?.message).toMatch(/^queue billing grows by 9\.\d % a minute: 7,\d{3} jobs wait, and twice as many in /)
  })

  test.each<[string, (minute: number) => Moment]>([
    ['long and drains', (minute) => ({ depth: 50_000 - 500 * minute })],
    ['long and steady', () => ({ depth: 50_000 })],
    ['short and doubles', (minute) => ({ depth: 20 * 2 ** minute })],
    ['short again after growing', (minute) => ({ depth: minute < 4.9 ? 5_000 * 1.2 ** minute : 10 })],
    ['noisy without a course', (minute) => ({ depth: 5_000 + 300 * Math.sin(minute * 40) })],
  ])('is well when the queue is %s', (_, course) => {
    expect(judged('queue-growth', series(5, course))?.verdict).toBe('calm')
  })

  test('is not judged by a minute, nor by what nobody saw', () => {
    expect(
      judged(
        'queue-growth',
        series(1, (minute) => ({ depth: 5_000 * 2 ** minute })),
      ),
    ).toBeUndefined()
    expect(
      judged(
        'queue-growth',
        series(5, () => ({ depth: null })),
      ),
    ).toBeUndefined()
  })
})

describe('the wait in a queue', () => {
  test('is told where it leads, before it is there', () => {
    const samples = series(5, (minute) => ({ waitMs: 30_000 + 20_000 * minute }))
    expect(judged('queue-wait', samples)?.verdict).toBe('calm')
    const trend = judged('queue-wait-trend', samples)
    expect(trend).toMatchObject({ verdict: 'broken' })
    expect(trend?.message).toMatch(
      /^worker shortage forming in queue billing: a wait \(p95\) of .* → 5 min.* expected in /,
    )
  })

  test('is not foretold where it is already', () => {
    const trend = judged(
      'queue-wait-trend',
      series(5, (minute) => ({ waitMs: 300_000 + 20_000 * minute })),
    )
    expect(trend).toMatchObject({ verdict: 'broken', value: 0 })
    expect(trend?.message).toMatch(
      /^worker shortage in queue billing: a wait \(p95\) of \d+ min.*, at most 5 min is right, and it rises$/,
    )
  })

  test.each<[string, (minute: number) => Moment]>([
    ['does not rise', () => ({ waitMs: 100_000 })],
    ['falls', (minute) => ({ waitMs: 200_000 - 20_000 * minute })],
    ['rises and is nowhere near', (minute) => ({ waitMs: 100 + 100 * minute })],
    ['jumps about', (minute) => ({ waitMs: Math.round(minute * 6) % 2 === 0 ? 20_000 : 90_000 })],
    ['rises so slowly that there is time', (minute) => ({ waitMs: 60_000 + 3_000 * minute })],
  ])('is no shortage when it %s', (_, course) => {
    expect(judged('queue-wait-trend', series(5, course))?.verdict).toBe('calm')
  })

  test('breaks its rule when it is too long, or when nothing starts at all', () => {
    expect(
      judged(
        'queue-wait',
        series(5, () => ({ waitMs: 400_000 })),
      )?.verdict,
    ).toBe('broken')
    expect(
      judged(
        'queue-wait',
        series(5, () => ({ depth: 9, oldestMs: 400_000 })),
      )?.verdict,
    ).toBe('broken')
    expect(
      judged(
        'queue-wait',
        series(5, () => ({ waitMs: 1_000 })),
      )?.verdict,
    ).toBe('calm')
  })
})

test('jobs that die are counted per minute', () => {
  expect(
    judged(
      'jobs-dead',
      series(5, () => ({ died: 2 })),
    ),
  ).toMatchObject({ verdict: 'broken', value: 12.4 })
  expect(
    judged(
      'jobs-dead',
      series(5, () => ({ died: 0 })),
    )?.verdict,
  ).toBe('calm')
})

test('a limit for the depth is one that a person has set', () => {
  const samples = series(5, () => ({ depth: 9_000 }))
  expect(judged('queue-depth', samples)).toBeUndefined()
  const { queue } = resolveAlerts({ queues: { all: { depth: 10_000 }, billing: { depth: 8_000 } } })
  const depths = (name: string): Verdict | undefined =>
    judgeQueue(name, samples, queue(name)).find(({ rule }) => rule === 'queue-depth')?.verdict
  expect([depths('billing'), depths('mail')]).toEqual(['broken', 'near'])
})

test('operations and schedules', () => {
  const { operations, schedules } = resolveAlerts()
  const facts = { id: 'o', name: 'clean', held_ms: 1_700_000, paused_ms: 0, quarantined: 150 }
  expect(judgeOperation(facts, operations).map(({ rule, verdict }) => [rule, verdict])).toEqual([
    ['operation-held', 'broken'],
    ['operation-paused', 'calm'],
    ['quarantine-growth', 'broken'],
  ])
  expect([0, 1, 3].map((failed) => judgeSchedule({ name: 'n', failed }, schedules.failed).verdict)).toEqual([
    'calm',
    'near',
    'broken',
  ])
})

const course = (verdicts: readonly Verdict[]): boolean[] => {
  let standing: Standing = { firing: false, streak: 0 }
  return verdicts.map((verdict) => (standing = after(standing, verdict)).firing)
}
const times = <T>(n: number, value: T): T[] => Array.from({ length: n }, () => value)

describe('nothing flaps', () => {
  test('one odd look is no alarm', () => {
    expect(course(['broken', 'calm', 'broken', 'near', 'broken'])).toEqual(times(5, false))
    expect(course(['broken', 'broken'])).toEqual([false, true])
  })

  test('a value around its limit stays an alarm, and six calm looks end it', () => {
    const around = Array.from({ length: 40 }, (_, n): Verdict => verdictOn(n % 2 === 0 ? 101 : 97, 100))
    expect(course(['broken', 'broken', ...around]).slice(1)).toEqual(times(41, true))
    expect(course(['broken', 'broken', ...times(5, 'calm' as const), 'near', ...times(6, 'calm' as const)])).toEqual([
      false,
      ...times(12, true),
      false,
    ])
  })
})

test.each([
  [{ queue: {} }, /"alerts\.queue" is not an option.*queues/],
  [{ queues: { mail: { grwoth: 1 } } }, /"alerts\.queues\.mail\.grwoth" is not an option.*growth/],
  [{ queues: { mail: { wait: 'soon' } } }, /"alerts\.queues\.mail\.wait" must be a time/],
  [{ queues: { all: { growth: -1 } } }, /"alerts\.queues\.all\.growth" must be a number above 0/],
  [{ schedules: { failed: 1.5 } }, /"alerts\.schedules\.failed" must be a whole number from 1 to 50/],
  [{ webhook: { uri: 'https://a.example' } }, /"alerts\.webhook\.uri" is not an option.*url/],
  [{ webhook: { url: 'http://a.example', secret: 'x'.repeat(20), allow: ['a.example'] } }, /must be an https address/],
  [{ webhook: { url: 'https://a.example', secret: 'x'.repeat(20), allow: [] } }, /must list the host/],
  [{ webhook: { url: 'https://a.example', secret: 'short', allow: ['a.example'] } }, /at least 16 characters/],
] as const)('wrong options are refused: %j', (config, message) => {
  expect(() => resolveAlerts(config as never)).toThrow(message)
})
