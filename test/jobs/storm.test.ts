// The short form of `npm run storm`.
import { expect, test } from 'vitest'
import { fullest, histogram, retryStorm } from '../torture/storm/storm.ts'
import { testDatabase } from '../support/database.ts'

test('jobs that fail at once come back at once without jitter, and spread out with it', async () => {
  await using db = await testDatabase()
  const jobs = 600
  const [together, spread] = [await retryStorm(db, { jobs, jitter: 0 }), await retryStorm(db, { jobs, jitter: 0.5 })]
  expect(fullest(together)).toBeGreaterThan(0.9)
  // Thirty seconds to spread over: evenly, each would have 3.3 %.
  expect(fullest(spread)).toBeLessThan(0.12)
  const seconds = [...spread.keys()]
  expect(Math.min(...seconds)).toBeGreaterThanOrEqual(14)
  expect(Math.min(...seconds)).toBeLessThan(20)
  expect(Math.max(...seconds)).toBeGreaterThan(40)
  expect(Math.max(...seconds)).toBeLessThanOrEqual(45)
  expect([...spread.values()].reduce((sum, count) => sum + count, 0)).toBe(jobs)
})

test('a spread is drawn with a bar for each second, also where nothing happens', () => {
  const drawn = histogram(
    new Map([
      [3, 2],
      [5, 4],
    ]),
    4,
  )
  expect(drawn.split('\n').map((line) => line.trimEnd())).toEqual([
    '   3 s      2 ██',
    '   4 s      0',
    '   5 s      4 ████',
  ])
})
