// The short form of `npm run torture -- operations`: real workers, real faults, every counter must end at 1.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { startCluster } from '../support/cluster.ts'
import { plant } from '../torture/mutants.ts'
import { restarting } from '../torture/restarts.ts'
import { killWorkers, loseCommits, overtakeWorkers, restartServer } from '../torture/scenarios.ts'

const rows = 8_000
const exact = { rows, counted: rows, wrong: 0, status: 'finished' }
const limit = { timeout: 480_000 }

test('workers killed with SIGKILL lose no row and double none', limit, async () => {
  const outcome = await killWorkers({ clusterUrl: inject('clusterUrl'), rows, faults: 2, processes: 2 })
  expect(outcome).toMatchObject({ ...exact, faults: 2 })
  expect(outcome.rescued).toBeGreaterThanOrEqual(1)
})

test('a lost answer to COMMIT neither repeats nor skips a sub-batch', limit, async () => {
  // Nobody may come back too late to ask, however busy the machine is.
  const place = { clusterUrl: inject('clusterUrl'), processes: 2 }
  const outcome = await loseCommits({ ...place, rows, faults: 2, lease: '20s' })
  expect(outcome).toMatchObject({ ...exact, faults: 2, fenceRefusals: 0 })
  expect(outcome.doubted).toBeGreaterThanOrEqual(1)
})

test('a server killed with kill -9 and started again is worked on by itself', limit, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-restart-'))
  const cluster = await startCluster(folder, { settings: { max_connections: '200' } })
  const server = restarting(cluster, folder)
  try {
    const outcome = await restartServer({ clusterUrl: cluster.url, rows, faults: 1, processes: 2 }, (nth) =>
      server.restart(nth),
    )
    expect(outcome).toMatchObject({ ...exact, faults: 1 })
  } finally {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

test(
  'a worker that is stopped in its transaction and wakes when another has gone on with its batch is refused',
  limit,
  async () => {
    const outcome = await overtakeWorkers({ clusterUrl: inject('clusterUrl'), rows: 2_000, faults: 1, processes: 2 })
    expect(outcome).toMatchObject({ ...exact, rows: 2_000, counted: 2_000, faults: 1 })
    expect(outcome.fenceRefusals).toBeGreaterThanOrEqual(1)
  },
)

test('a planted bug, the nonce checked before the transaction, is caught by this suite', limit, async () => {
  await using planted = await plant('fence-before-transaction')
  // The session of whoever stands still stays: only its nonce could keep it from committing.
  const place = { clusterUrl: inject('clusterUrl'), processes: 2, idleInTransaction: '60s' }
  const outcome = await overtakeWorkers({ ...place, rows: 2_000, faults: 1, package: planted.package })
  expect(outcome.faults).toBe(1)
  expect(outcome.wrong).toBeGreaterThan(0)
})
