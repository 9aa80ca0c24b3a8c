import fc from 'fast-check'
import { expect, test } from 'vitest'
import { count, placeOfMs, quantile, sumOf } from '../../../src/observe/samples/histogram.ts'

const histogramOf = (durations: readonly number[]): number[] => {
  const histogram: number[] = []
  for (const ms of durations) count(histogram, ms)
  return histogram
}

test('places grow by the root of two, from a millisecond to days', () => {
  expect([0, 1, 1.2, 1.5, 2, 4, 4.1, 1_000].map(placeOfMs)).toEqual([0, 0, 1, 2, 2, 4, 5, 20])
  expect(placeOfMs(1e15)).toBe(56)
})

test('a quantile is in the place of the real one, also after histograms were summed up', () => {
  const durations = fc.array(fc.integer({ min: 1, max: 10_000_000 }), { minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(durations, durations, fc.constantFrom(0.5, 0.95, 0.99), (a, b, share) => {
      const all = [...a, ...b].toSorted((x, y) => x - y)
      const real = all[Math.max(0, Math.ceil(share * all.length) - 1)] ?? 0
      const found = quantile(sumOf([histogramOf(a), histogramOf(b)]), share) ?? 0
      expect(found / real).toBeGreaterThan(1 / 1.4143)
      expect(found / real).toBeLessThan(1.4143)
    }),
  )
})

test('without any there is none', () => {
  expect(quantile([], 0.95)).toBeUndefined()
  expect(quantile([0, 0], 0.95)).toBeUndefined()
})
