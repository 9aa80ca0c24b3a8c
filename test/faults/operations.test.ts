// The short form of `npm run torture -- operations`: real workers, real faults, every counter must end at 1.
import { expect, inject, test } from 'vitest'
import { killWorkers, loseCommits, overtakeWorkers } from '../torture/scenarios.ts'

const rows = 8_000
const exact = { rows, counted: rows, wrong: 0, status: 'finished' }

test('workers killed with SIGKILL lose no row and double none', async () => {
  const outcome = await killWorkers({ clusterUrl: inject('clusterUrl'), rows, faults: 2, processes: 2 })
  expect(outcome).toMatchObject({ ...exact, faults: 2 })
  expect(outcome.rescued).toBeGreaterThanOrEqual(1)
})

test('a lost answer to COMMIT neither repeats nor skips a sub-batch', async () => {
  // Nobody may come back too late to ask, however busy the machine is.
  const place = { clusterUrl: inject('clusterUrl'), processes: 2 }
  const outcome = await loseCommits({ ...place, rows, faults: 2, lease: '20s' })
  expect(outcome).toMatchObject({ ...exact, faults: 2, fenceRefusals: 0 })
  expect(outcome.doubted).toBeGreaterThanOrEqual(1)
})

test('a worker that is stopped in its transaction and wakes when another has gone on with its batch is refused', async () => {
  const outcome = await overtakeWorkers({ clusterUrl: inject('clusterUrl'), rows: 2_000, faults: 1, processes: 2 })
  expect(outcome).toMatchObject({ ...exact, rows: 2_000, counted: 2_000, faults: 1 })
  expect(outcome.fenceRefusals).toBeGreaterThanOrEqual(1)
})
