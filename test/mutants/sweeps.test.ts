import { expect, inject, test } from 'vitest'
import { caught } from '../torture/caught.ts'
import { plant } from '../torture/mutants.ts'
import { tortureSweeps } from '../torture/sweeps/scenario.ts'

const limit = { timeout: 480_000 }

test('a planted bug, the version not given to the effect, is caught by this suite', limit, async () => {
  await using planted = await plant('sweep-version-not-given')
  // Slow deletes: what is made anew meanwhile is there before they take effect.
  const slow = { latencyMs: 150, recreations: 40, pastes: 100, objects: 50, processes: 2 }
  const unharmed = { kills: 0, stops: 0, faults: 0, outageMs: 0 }
  const plan = { ...slow, ...unharmed, clusterUrl: inject('clusterUrl'), package: planted.package }
  const shows = async (): Promise<boolean> => (await tortureSweeps(plan)).livePastesWithoutObject > 0
  expect(await caught(shows)).toBe(true)
})
