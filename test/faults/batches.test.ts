// The short form of `npm run torture -- batches`: real workers, real faults, and every callback checked at the end.
import { expect, inject, test } from 'vitest'
import { tortureBatches } from '../torture/batches/scenario.ts'
import { wrongIn } from '../torture/batches/verdict.ts'

test('kills, stops and lost answers lose no callback of a batch of jobs, double none and call none early', async () => {
  const outcome = await tortureBatches({
    clusterUrl: inject('clusterUrl'),
    batches: 8,
    size: 30,
    harm: ['kill', 'loseMembers', 'stop', 'kill'],
    secondsPerHarm: 0.8,
  })
  expect(wrongIn(outcome)).toEqual([])
  expect(outcome).toMatchObject({ batches: 10, callbacks: { complete: 10 }, hits: { kill: 2, stop: 1 } })
})
