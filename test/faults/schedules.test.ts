// The short form of `npm run torture -- schedules`: workers with wrong clocks, harmed around ticks.
import { expect, inject, test } from 'vitest'
import { kill, loseCommit, stop, type TickHarm } from '../torture/schedules/harms.ts'
import { harmAtTicks, isExact } from '../torture/schedules/scenario.ts'

test.concurrent.each<[string, TickHarm, number]>([
  ['die around ticks', kill, 4],
  ['stand still around ticks for longer than their lease', stop, 2],
  ['do not hear that a tick was committed', loseCommit, 4],
])('one row and one job per tick, though workers %s and their clocks are 20 minutes apart', async (_, harm, times) => {
  const outcome = await harmAtTicks(harm, { clusterUrl: inject('clusterUrl'), times, processes: 2 })
  expect(outcome).toMatchObject({ hits: times, wrongJobs: 0 })
  expect(isExact(outcome)).toBe(true)
  expect(outcome.rows).toBeGreaterThan(0)
})
