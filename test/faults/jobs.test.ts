// The short form of `npm run torture -- jobs`: real workers, real faults, and every promise checked at the end.
import { expect, test } from 'vitest'
import { ownServer } from '../support/own-server.ts'
import { tortureJobs } from '../torture/jobs/scenario.ts'
import { wrongIn } from '../torture/jobs/verdict.ts'

test('kills, stops, lost answers and a restart lose no job, double no effect and leak nothing', async () => {
  await using server = await ownServer()
  const outcome = await tortureJobs({
    clusterUrl: server.url,
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
})
