// The short form of `npm run torture -- sweeps`: real workers, a store with trouble, and every promise checked.
import { expect, inject, test } from 'vitest'
import { tortureSweeps } from '../torture/sweeps/scenario.ts'
import { wrongIn } from '../torture/sweeps/verdict.ts'

const small = { pastes: 400, objects: 80, processes: 2 }

test('kills, a stop, a store with trouble: no live paste loses its object, and nothing is left over', async () => {
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
})
