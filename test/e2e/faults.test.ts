// The short form of `npm run torture -- operations`: real workers, real faults, every counter must end at 1.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { startCluster } from '../support/cluster.ts'
import { caught } from '../torture/caught.ts'
import { plant } from '../torture/mutants.ts'
import { restarting } from '../torture/restarts.ts'
import { killWorkers, loseCommits, restartServer, stopWorkers } from '../torture/scenarios.ts'

const rows = 8_000
const exact = { rows, counted: rows, wrong: 0, status: 'finished' }
const limit = { timeout: 480_000 }

test('workers killed with SIGKILL lose no row and double none', limit, async () => {
  const outcome = await killWorkers({ clusterUrl: inject('clusterUrl'), rows, faults: 4 })
  expect(outcome).toMatchObject({ ...exact, faults: 4 })
  expect(outcome.rescued).toBeGreaterThanOrEqual(1)
})

test('workers stopped for longer than their lease are refused when they wake', limit, async () => {
  const outcome = await stopWorkers({ clusterUrl: inject('clusterUrl'), rows, faults: 2 })
  expect(outcome).toMatchObject({ ...exact, faults: 2 })
  expect(outcome.fenceRefusals).toBeGreaterThanOrEqual(1)
})

test('a lost answer to COMMIT neither repeats nor skips a sub-batch', limit, async () => {
  const outcome = await loseCommits({ clusterUrl: inject('clusterUrl'), rows, faults: 3 })
  expect(outcome).toMatchObject({ ...exact, faults: 3 })
  // Whoever comes back too late to ask finds that another one has the batch.
  expect(outcome.doubted + outcome.fenceRefusals).toBeGreaterThanOrEqual(1)
})

test('a server killed with kill -9 and started again is worked on by itself', limit, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-restart-'))
  const cluster = await startCluster(folder, { settings: { max_connections: '200' } })
  const server = restarting(cluster, folder)
  try {
    const outcome = await restartServer({ clusterUrl: cluster.url, rows, faults: 1 }, (nth) => server.restart(nth))
    expect(outcome).toMatchObject({ ...exact, faults: 1 })
  } finally {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

test('a planted bug, the nonce checked before the transaction, is caught by this suite', limit, async () => {
  await using planted = await plant('fence-before-transaction')
  // Long pauses inside of the transaction: that is where the bug bites, and where the stops shall land. One process
  // more than lanes: it takes a rescued batch over at once, while the old holder is still asleep.
  const place = { clusterUrl: inject('clusterUrl'), processes: 4, lanes: 3, pauseMs: 80 }
  const plan = { ...place, rows, faults: 3, shortOnly: true }
  const shows = async (): Promise<boolean> => {
    const outcome = await stopWorkers({ ...plan, package: planted.package })
    expect(outcome.faults).toBe(3)
    return outcome.wrong > 0
  }
  expect(await caught(shows)).toBe(true)
})
