// The short form of `npm run torture -- strange`: some databases unlike the one that we develop on.
import { expect, inject, test } from 'vitest'
import { runStrange } from '../torture/strange/scenario.ts'

const seeds = [1, 2, 3, 4]

test.each(seeds)('every promise holds on the strange database of seed %i', async (seed) => {
  const { plan, wrong } = await runStrange(inject('clusterUrl'), seed)
  expect(wrong, JSON.stringify(plan)).toEqual([])
})
