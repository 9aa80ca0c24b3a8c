import { expect, test } from 'vitest'
import { cronWords } from '../../src/dashboard/ui/cron-words.ts'
import { duration, percent, range } from '../../src/dashboard/ui/figures.ts'
import { box, layoutOf } from '../../src/dashboard/ui/machine-layout.ts'
import { trendOf } from '../../src/dashboard/ui/trend.ts'

const [second, minute, hour] = [1_000, 60_000, 3_600_000]

test.each([
  [0, '0 ms'],
  [849.6, '850 ms'],
  [2 * second, '2 s'],
  [2_340, '2.3 s'],
  [12_400, '12 s'],
  [59_700, '1 min'],
  [minute, '1 min'],
  [4 * minute + 8 * second, '4 min 8 s'],
  [12 * minute + 8 * second, '12 min'],
  [hour, '1 h'],
  [3 * hour + 10 * minute, '3 h 10 min'],
  [49 * hour, '2 d 1 h'],
])('%d ms are told as %s', (ms, told) => expect(duration(ms)).toBe(told))

test.each([
  [12 * second, 40 * second, '12 – 40 s'],
  [4 * minute + 8 * second, 10 * minute, '4 – 10 min'],
  [20 * second, 5 * minute, '1 – 5 min'],
  [4 * minute, 4 * minute + 10 * second, '~4 min'],
  [3 * hour + 8 * minute, 4 * hour + 2 * minute, '3 h 10 min – 4 h'],
])('from %d to %d ms is told in round figures: %s', (low, high, told) => expect(range(low, high)).toBe(told))

test('nothing, a little and all of it as shares', () => {
  expect([0, 0.0004, 0.629, 1].map(percent)).toEqual(['0 %', '0.0 %', '62.9 %', '100 %'])
})

test.each([
  ['* * * * *', 'every minute'],
  ['*/20 * * * *', 'every 20 minutes'],
  ['5 * * * *', 'every hour at 5 past'],
  ['0 */6 * * *', 'every 6 hours at 0 past'],
  ['30 3 * * *', 'at 03:30 every day'],
  ['0 9,17 * * 1-5', 'at 09:00 and 17:00 on Monday to Friday'],
  ['0 9 * * sat,sun', 'at 09:00 on Saturday and Sunday'],
  ['0 9 1 * *', 'at 09:00 on day 1 of the month'],
  ['0 9 1 jan,7 *', 'at 09:00 on day 1 of the month in January and July'],
  ['0 0 L * *', 'at 00:00 on the last day of the month'],
  ['0 30 3 * * *', 'at 03:30 every day'],
])('the rule %s says %s', (rule, told) => expect(cronWords(rule)).toBe(told))

test.each(['every 15m', '1-9/3 * * * *', '0 9 13 * 5', '*/5 30 3 * * *', '0 9 * * 1#2', 'nonsense'])(
  'the rule %s is left to its pattern',
  (rule) => expect(cronWords(rule)).toBeUndefined(),
)

test('a queue that has run dry goes nowhere', () => {
  const falls = [90, 60, 30, 0].map((value, at) => ({ at: at * minute, value }))
  expect(trendOf(falls)).toBeUndefined()
  expect(trendOf(falls.slice(0, 3))?.told).toBe('empty in ~1 min')
})

/** How far down a path goes, at each of its points. */
const heights = (path: string): number[] =>
  (path.split('m')[0]?.match(/-?[\d.]+/g) ?? []).filter((_, at) => at % 2 === 1).map(Number)

test('ways of a machine go ahead by columns; those back and those over others go around', () => {
  const { places, ways, width, height } = layoutOf([
    { state: 'new', to: ['paid', 'gone'] },
    { state: 'paid', to: ['sent'] },
    { state: 'sent', to: ['paid', 'gone'] },
    { state: 'gone', to: [] },
  ])
  const columns = ['new', 'paid', 'sent', 'gone'].map((state) => places.get(state)?.x)
  expect(columns).toEqual(columns.toSorted((a = 0, b = 0) => a - b))
  expect(new Set(columns).size).toBe(4)
  const pathOf = (key: string): string => ways.find((way) => way.key === key)?.path ?? ''
  const row = places.get('new')?.y ?? 0
  expect(pathOf('new paid')).toContain('C')
  expect(Math.min(...heights(pathOf('new gone')))).toBeLessThan(row)
  expect(Math.max(...heights(pathOf('sent paid')))).toBeGreaterThan(row + box.height)
  for (const y of ways.flatMap(({ path }) => heights(path))) {
    expect(y).toBeGreaterThanOrEqual(0)
    expect(y).toBeLessThanOrEqual(height)
  }
  expect(width).toBeGreaterThan(4 * box.width)
})
