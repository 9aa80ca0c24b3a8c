// What a commit has promised is there after a crash of the server: each engine on a server that flushes what it writes,
// killed with kill -9 in mid-work, again and again.
import { expect, test } from 'vitest'
import { testDatabase } from '../support/database.ts'
import { ownServer } from '../support/own-server.ts'
import { tortureJobs } from '../torture/jobs/scenario.ts'
import { wrongIn } from '../torture/jobs/verdict.ts'
import { restartServer } from '../torture/scenarios.ts'

const crashes = 2

test('operations neither lose nor repeat a row when a durable server is killed with kill -9', async () => {
  await using server = await ownServer()
  expect(await settingsOf(server.url)).toEqual(['on', 'on', 'on'])
  const rows = 8_000
  const plan = { clusterUrl: server.url, rows, faults: crashes, processes: 2 }
  const outcome = await restartServer(plan, () => server.crash())
  expect(outcome).toMatchObject({ rows, counted: rows, wrong: 0, status: 'finished', faults: crashes })
})

test('jobs are neither lost nor doubled when a durable server is killed with kill -9', async () => {
  await using server = await ownServer()
  expect(await settingsOf(server.url)).toEqual(['on', 'on', 'on'])
  const outcome = await tortureJobs({
    clusterUrl: server.url,
    jobs: 120,
    harm: Array.from({ length: crashes }, () => 'restart' as const),
    secondsPerHarm: 2,
    concurrency: 3,
    processes: 2,
    restart: () => server.crash(),
  })
  expect(wrongIn(outcome)).toEqual([])
  expect(outcome).toMatchObject({ jobs: 120, hits: { restart: crashes } })
})

/** As workers and whoever enqueues have them, not as they were asked for. */
async function settingsOf(clusterUrl: string): Promise<string[]> {
  await using db = await testDatabase(clusterUrl)
  const names = ['fsync', 'full_page_writes', 'synchronous_commit']
  return Promise.all(names.map((name) => db.value<string>('select current_setting($1)', [name])))
}
