// The short form of `npm run torture -- sweeps`: real workers, a store with trouble, and every promise checked.
import { expect, inject, test } from 'vitest'
import { caught } from '../torture/caught.ts'
import { plant } from '../torture/mutants.ts'
import { tortureSweeps } from '../torture/sweeps/scenario.ts'
import { wrongIn } from '../torture/sweeps/verdict.ts'

const limit = { timeout: 480_000 }
const small = { pastes: 400, objects: 80, processes: 2, kills: 0, stops: 0, faults: 0, outageMs: 0, recreations: 0 }

test(
  'kills, a stop, a store with trouble: no live paste loses its object, and nothing is left over',
  limit,
  async () => {
    const outcome = await tortureSweeps({
      ...small,
      clusterUrl: inject('clusterUrl'),
      kills: 1,
      stops: 1,
      faults: 12,
      outageMs: 400,
      recreations: 2,
      latencyMs: 15,
    })
    expect(wrongIn(outcome)).toEqual([])
    expect(outcome).toMatchObject({ kills: 1, stops: 1, quarantined: 0, faults: { error: 4, hang: 4, lost: 4 } })
    expect(outcome.recreated).toBeGreaterThanOrEqual(2)
    expect(outcome.rescued).toBeGreaterThanOrEqual(1)
  },
)

test('a planted bug, the version not given to the effect, is caught by this suite', limit, async () => {
  await using planted = await plant('sweep-version-not-given')
  // Slow deletes: what is made anew meanwhile is there before they take effect.
  const slow = { latencyMs: 150, recreations: 40, pastes: 100, objects: 50 }
  const plan = { ...small, ...slow, clusterUrl: inject('clusterUrl'), package: planted.package }
  const shows = async (): Promise<boolean> => (await tortureSweeps(plan)).livePastesWithoutObject > 0
  expect(await caught(shows)).toBe(true)
})
