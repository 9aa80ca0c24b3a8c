import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { backoffMs } from '../../src/std/backoff.ts'
import { formatDuration, parseDuration } from '../../src/std/duration.ts'
import { errorRecord } from '../../src/std/error-record.ts'
import { printable } from '../../src/std/printable.ts'
import { didYouMean, nearest } from '../../src/std/suggest.ts'
import { uuidv7 } from '../../src/std/uuid.ts'

describe('durations', () => {
  test.each([
    ['500ms', 500],
    ['1.5s', 1_500],
    ['5m', 300_000],
    ['2 hours', 7_200_000],
    ['90 days', 7_776_000_000],
    ['1 week', 604_800_000],
    [250, 250],
    ['0s', 0],
  ])('%s is read as %d ms', (text, ms) => expect(parseDuration(text)).toBe(ms))

  test.each(['', 's', '5', '5 parsecs', '-5s', '5s5m', '1e3s', Number.NaN, -1, Infinity, null, undefined, {}, '5 mss'])(
    '%s is not a duration',
    (text) => expect(parseDuration(text)).toBeUndefined(),
  )

  test.each([
    [12, '12 ms'],
    [4_200, '4.2 s'],
    [59_000, '59 s'],
    [200_000, '3 min 20 s'],
    [7_500_000, '2 h 5 min'],
    [90_000_000, '1 d 1 h'],
    [86_400_000, '1 d'],
  ])('%d ms is written as %s', (ms, text) => expect(formatDuration(ms)).toBe(text))
})

test('back-off grows to its ceiling and stays in the upper half of each step', () => {
  const growth = { baseMs: 100, maxMs: 5_000 }
  expect([1, 2, 3, 7, 50].map((attempt) => backoffMs(attempt, growth, 1))).toEqual([100, 200, 400, 5_000, 5_000])
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, random) => {
      const ms = backoffMs(attempt, growth, random)
      const ceiling = Math.min(5_000, 100 * 2 ** Math.min(attempt - 1, 30))
      return ms >= Math.floor(ceiling / 2) && ms <= ceiling
    }),
  )
})

test('ids are version 7 UUIDs that sort by time', () => {
  const ids = [1_000, 2_000, 1_790_000_000_000].map((ms) => uuidv7(ms))
  for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(Array.from({ length: 10_000 }, () => uuidv7())).size).toBe(10_000)
})

test('a mistyped word finds its neighbour, and a strange one finds none', () => {
  expect(nearest('databse', ['database', 'schema'])).toBe('database')
  expect(nearest('zebra', ['database', 'schema'])).toBeUndefined()
  expect(didYouMean('concurency', ['concurrency', 'lease'])).toBe(' Did you mean "concurrency"?')
})

test('control and direction characters are shown, not obeyed', () => {
  expect(printable('a\u001b[31mred\u0007\u202Eabc')).toBe('a\\u001b[31mred\\u0007\\u202eabc')
  expect(printable('two\nlines\tand ünïcode 🙂')).toBe('two\nlines\tand ünïcode 🙂')
})

describe('error records', () => {
  test('keep name, code, message and stack', () => {
    const record = errorRecord(Object.assign(new TypeError('bad'), { code: '23505' }))
    expect(record).toMatchObject({ name: 'TypeError', message: 'bad', code: '23505' })
    expect(record.stack).toContain('TypeError: bad')
  })

  test.each([
    ['text', 'text'],
    [undefined, 'undefined'],
    [
      {
        toString: () => {
          throw new Error('no')
        },
      },
      'object',
    ],
    [Symbol('s'), 'Symbol(s)'],
  ])('take any thrown value: %#', (thrown, message) => {
    expect(errorRecord(thrown)).toEqual({ name: 'NotAnError', message })
  })

  test('are bounded and storable', () => {
    const record = errorRecord(new Error(`nul \0 and half \uD800 ${'x'.repeat(10_000_000)}`))
    expect(record.message.length).toBeLessThan(2_100)
    expect(record.message).not.toContain('\0')
    expect(record.message.isWellFormed()).toBe(true)
    expect(record.stack?.length).toBeLessThan(8_100)
  })

  test('keep what an error comes from, without stacks', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED ::1:9'), { code: 'ECONNREFUSED' })
    const error = new TypeError('fetch failed', { cause: new AggregateError([refused, 'a text'], 'all failed') })
    expect(errorRecord(error)).toMatchObject({ name: 'TypeError', message: 'fetch failed' })
    expect(errorRecord(error).causes).toEqual([
      { name: 'AggregateError', message: 'all failed' },
      { name: 'Error', message: 'connect ECONNREFUSED ::1:9', code: 'ECONNREFUSED' },
      { name: 'NotAnError', message: 'a text' },
    ])
    expect(errorRecord(new Error('alone'))).not.toHaveProperty('causes')
  })

  test('end where causes do not', () => {
    const circle = new Error('a')
    circle.cause = new Error('b', { cause: circle })
    expect(errorRecord(circle).causes).toEqual([{ name: 'Error', message: 'b' }])
    let endless = new Error('x'.repeat(100_000))
    for (let n = 0; n < 1_000; n++) endless = new Error('y'.repeat(100_000), { cause: endless })
    const { causes = [] } = errorRecord(new AggregateError(Array.from({ length: 1_000 }, () => endless)))
    expect(causes).toHaveLength(10)
    expect(JSON.stringify(causes).length).toBeLessThan(10_000)
    const odd = new Error('odd')
    Object.defineProperty(odd, 'cause', { get: () => expect.unreachable() })
    expect(errorRecord(odd)).toMatchObject({ message: 'odd' })
  })
})
