import { fileURLToPath } from 'node:url'
import { expect, inject, test } from 'vitest'
import { spread } from '../harness.ts'
import { conditions } from '../report.ts'
import { connected } from '../database.ts'
import { bulkBenchmark, cases } from '../scenarios/bulk/bulk.ts'
import { bulkPlot } from '../scenarios/bulk/plot.ts'
import { bulkData, bulkReport } from '../scenarios/bulk/report.ts'
import { works } from '../scenarios/bulk/works.ts'
import { smallSizes } from '../scenarios/jobs/bench.ts'
import { measureDashboard } from '../scenarios/dashboard.ts'
import { EventsTable } from '../scenarios/events-table.ts'
import { compareReleases, releasesReport } from '../scenarios/releases.ts'
import { measureRetention, retentionCases, retentionReport } from '../scenarios/retention.ts'
import { measureRequeue, requeueReport, tenthsOf } from '../scenarios/requeue.ts'

const sizes = { rows: 2_001, rounds: 1, rate: 100, idleMs: 300, limitMs: 60_000, loopMs: 60_000 }
const these = (...names: string[]): typeof works =>
  Object.fromEntries(Object.entries(works).filter(([n]) => names.includes(n)))
/** With an application, and the other kind of work: most ways once, in one or the other. */
const ways: Record<string, typeof works> = {
  foreground: these('one big statement', 'LIMIT 500 loop', 'Sluice, 1 lane', 'Sluice, fixed 500'),
  full: these('one big statement', 'keyset 1,000, 100 ms pause', 'Sluice, lanes auto'),
}
const some = cases.filter(({ key }) => key in ways)

test.each(some.map(({ key, title }) => [title, key]))('the bulk benchmark runs: %s', async (_, key) => {
  const url = inject('clusterUrl')
  const said: string[] = []

  const measured = await bulkBenchmark({
    url,
    sizes,
    only: [key],
    ways: ways[key] ?? {},
    say: (line) => said.push(line),
  })
  const about = { conditions: await conditions(url), command: 'npm run bench -- bulk', facts: [] }
  const text = bulkReport(measured, about)

  const [outcome] = measured
  const expected = Object.keys(ways[key] ?? {})
  expect(outcome?.outcomes.map(({ variant }) => variant)).toEqual(expected)
  const rows = key === 'full' ? 1_001 : 1_000
  for (const { variant, runs } of outcome?.outcomes ?? []) {
    expect([variant, runs.map((run) => [run.rows, run.complete])]).toEqual([variant, [[rows, true]]])
    expect(text).toContain(`| ${variant}`)
  }
  expect(said).toHaveLength(1 + expected.length)
  // A single statement may be over before the application has done anything; a whole operation is not.
  const beats = outcome?.outcomes.flatMap(({ runs }) => runs.flatMap((run) => run.beats)) ?? []
  expect(beats.length > 0).toBe(key === 'foreground')
  expect(outcome === undefined ? '' : bulkPlot(outcome)).toContain('<polyline')
  expect(JSON.stringify(bulkData(measured, about))).toContain('"targets"')
})

test.each([
  [
    'too few',
    'delete from events where id in (select min(id) from events)',
    '499 that were meant are left, and 500 of 500',
  ],
  ['too many', 'delete from events', '0 that were meant are left, and 0 of 500'],
  [
    'the wrong',
    `delete from events where created_at < now() - interval '90 days' or id % 2 = 1`,
    '0 that were meant are left, and 250 of 500',
  ],
])('a variant that deletes %s rows fails the benchmark', async (_, text, said) => {
  await using table = await EventsTable.create(inject('clusterUrl'), { rows: 1_000, aged: 'oldest' })
  const work = table.measure((url, timed) => connected(url, (client) => timed(() => client.query(text))))
  await expect(work).rejects.toThrow(said)
})

test('the dashboard benchmark runs: every route that reads answers', async () => {
  const few = { history: 1_000, queued: 100, failed: 20, operations: 5, calls: 1, viewers: 2, lookMs: 500 }
  const measured = await measureDashboard({ url: inject('clusterUrl'), sizes: few }, () => undefined)
  expect(measured.routes.map(({ route }) => route)).toEqual(
    expect.arrayContaining(['/operations', '/queues', '/failed', '/audit/export', '/jobs?states=dead']),
  )
  expect(measured.routes.every(({ bytes }) => bytes > 0)).toBe(true)
})

test('the requeue benchmark runs, and tells the speed over each tenth of the backlog', async () => {
  const said: string[] = []
  const tenths = await measureRequeue({ url: inject('clusterUrl'), rows: 20_001 }, (line) => said.push(line))
  expect(tenths.map(({ rowsPerSecond }) => rowsPerSecond.length)).toEqual([10, 10, 10])
  expect(said).toHaveLength(3)
  const text = requeueReport(tenths, { conditions: ['here'], command: 'bench', rows: 20_001 })
  expect(text).toMatch(/^## requeue: work off a backlog of 10,000 of 20,001 rows$/m)
  expect(text.match(/^\|/gm)).toHaveLength(5)
})

test('the retention benchmark runs, and tells how many rows were read for those that are gone', async () => {
  const [url, said] = [inject('clusterUrl'), [] as string[]]
  const measured = await measureRetention({ url, cases: retentionCases([20_000], 20_000), rounds: 1 }, (line) =>
    said.push(line),
  )
  expect(measured.map(({ outcomes }) => outcomes.map(({ runs }) => runs.map(({ rows }) => rows)))).toEqual([
    [[200], [200], [200]],
    [[66], [66], [66]],
    [[66], [66], [66]],
  ])
  expect(measured.every(({ outcomes }) => outcomes.every(({ runs }) => runs.every(({ read }) => read > 0)))).toBe(true)
  expect(said).toHaveLength(12)
  const text = retentionReport(measured, { conditions: ['here'], command: 'bench' })
  expect(text).toMatch(/^### 1 % of 20,000 rows aged, index on created_at$/m)
  expect(text.match(/^\| Sluice, verified/gm)).toHaveLength(3)
})

test('two releases are compared on the same work', async () => {
  const said: string[] = []
  const compared = await compareReleases({
    url: inject('clusterUrl'),
    against: fileURLToPath(new URL('../..', import.meta.url)),
    bulk: sizes,
    jobs: { ...smallSizes, warmUpJobs: 10, drainJobs: 100, pickupSamples: 2, enqueueMs: 100 },
    only: ['oldest', 'drain', 'pickup'],
    say: (line) => said.push(line),
  })
  expect(compared.map(({ work, before, now }) => [work.split(/[:,]/)[0], before.length, now.length])).toEqual([
    ['delete the oldest half', 1, 1],
    ['delete the oldest half', 1, 1],
    ['drain', 1, 1],
    ['pickup', 1, 1],
  ])
  expect(compared.flatMap(({ before, now }) => [...before, ...now]).every((value) => value > 0)).toBe(true)
  const text = releasesReport(compared, { conditions: ['here'], command: 'bench' })
  expect(text.match(/^\| /gm)).toHaveLength(5)
})

test('the speed over a tenth is what went between two marks', () => {
  const marks = Array.from({ length: 11 }, (_, i): [number, number] => [
    i * 100,
    i <= 5 ? i * 100 : 500 + (i - 5) * 200,
  ])
  expect(tenthsOf(marks, 1_000)).toEqual([...Array(5).fill(1_000), ...Array(5).fill(500)])
})

test('medians lie in the middle', () => {
  expect(spread([4, 1, 3, 2])).toEqual({ median: 2.5, min: 1, max: 4 })
  expect(spread([0.5, 2, 1])).toEqual({ median: 1, min: 0.5, max: 2 })
})
