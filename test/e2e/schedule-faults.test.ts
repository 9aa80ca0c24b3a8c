// The short form of `npm run torture -- schedules`: workers with wrong clocks, killed around ticks.
import { expect, inject, test } from 'vitest'
import { isExact, killAtTicks } from '../torture/schedules/scenario.ts'

test('one row and one job per tick, though workers die around ticks and their clocks are 20 minutes apart', async () => {
  const outcome = await killAtTicks({ clusterUrl: inject('clusterUrl'), kills: 4, processes: 3 })
  expect(outcome).toMatchObject({ kills: 4, wrongJobs: 0 })
  expect(isExact(outcome)).toBe(true)
  expect(outcome.seconds).toBeGreaterThan(3)
}, 120_000)
