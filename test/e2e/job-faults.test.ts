// The short form of `npm run torture -- jobs`: real workers, real faults, and every promise checked at the end.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startCluster } from '../support/cluster.ts'
import { tortureJobs } from '../torture/jobs/scenario.ts'
import { wrongIn } from '../torture/jobs/verdict.ts'
import { restarting } from '../torture/restarts.ts'

const limit = { timeout: 480_000 }

test('kills, stops, lost answers and a restart lose no job, double no effect and leak nothing', limit, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-job-faults-'))
  const cluster = await startCluster(folder, { settings: { max_connections: '200' } })
  const server = restarting(cluster, folder)
  try {
    const outcome = await tortureJobs({
      clusterUrl: cluster.url,
      jobs: 120,
      harm: ['kill', 'loseCommit', 'loseClaim', 'stop', 'loseCompletion', 'cut', 'restart'],
      secondsPerHarm: 0.5,
      concurrency: 3,
      restart: (nth) => server.restart(nth),
    })
    expect(wrongIn(outcome)).toEqual([])
    const once = { kill: 1, stop: 1, cut: 1, loseCommit: 1, loseClaim: 1, loseCompletion: 1, restart: 1 }
    expect(outcome).toMatchObject({ jobs: 120, hits: once })
    expect(outcome.recovery.jobs).toBeGreaterThanOrEqual(1)
    expect(outcome.samples).toBeGreaterThanOrEqual(10)
  } finally {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
