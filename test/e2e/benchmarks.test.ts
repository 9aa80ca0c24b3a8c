import { expect, inject, test } from 'vitest'
import { interleave, spread, summarise, type Run } from '../../benchmarks/harness.ts'
import { conditions, report } from '../../benchmarks/report.ts'
import { connected, EventsTable } from '../../benchmarks/scenarios/events-table.ts'
import { expireScenario } from '../../benchmarks/scenarios/expire.ts'
import { measureRequeue, requeueReport, tenthsOf } from '../../benchmarks/scenarios/requeue.ts'

const names = ['one big DELETE', 'LIMIT 1000 loop', 'Sluice, 1 lane', 'Sluice, 2 lanes']

test.each(['oldest', 'scattered'] as const)('the expire benchmark runs, with the %s rows aged', async (aged) => {
  const url = inject('clusterUrl')
  await using scenario = await expireScenario({ url, rows: 5_001, aged })
  const said: string[] = []

  const outcomes = await interleave(scenario, 1, (line) => said.push(line))
  const about = { conditions: await conditions(url), command: 'node benchmarks/main.ts expire', rounds: 1 }
  const text = report(scenario, summarise(outcomes, scenario.baseline), about)

  expect(outcomes.map(({ variant }) => variant)).toEqual(names)
  expect(outcomes.map(({ runs }) => runs.map(({ rows }) => rows))).toEqual(names.map(() => [2_500]))
  expect(said).toHaveLength(names.length)
  for (const name of names)
    expect(text).toMatch(new RegExp(`^\\| ${name} +\\|( [\\d.,]+ \\[[\\d.,]+\\] +\\|){3}$`, 'm'))
  expect(text).toMatch(/^\| one big DELETE .*\| 1\.00 \[1\.00\.\.1\.00\] +\|$/m)
})

test.each([
  ['too few', 'delete from events where id in (select min(id) from events)', '499 aged ones are left, and 500 of 500'],
  ['too many', 'delete from events', '0 aged ones are left, and 0 of 500'],
  [
    'the wrong',
    `delete from events where created_at < now() - interval '90 days' or id % 2 = 1`,
    '0 aged ones are left, and 250 of 500',
  ],
])('a variant that deletes %s rows fails the benchmark', async (_, text, said) => {
  await using table = await EventsTable.create(inject('clusterUrl'), { rows: 1_000, aged: 'oldest' })
  const work = table.measure((url, timed) => connected(url, (client) => timed(() => client.query(text))))
  await expect(work).rejects.toThrow(said)
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

test('the speed over a tenth is what went between two marks', () => {
  const marks = Array.from({ length: 11 }, (_, i): [number, number] => [
    i * 100,
    i <= 5 ? i * 100 : 500 + (i - 5) * 200,
  ])
  expect(tenthsOf(marks, 1_000)).toEqual([...Array(5).fill(1_000), ...Array(5).fill(500)])
})

const runs = (...times: number[]): Run[] => times.map((ms) => ({ rows: 100, ms }))

test('ratios are paired by round, and medians lie in the middle', () => {
  const outcomes = [
    { variant: 'base', runs: runs(100, 200, 400) },
    { variant: 'other', runs: runs(50, 200, 800) },
  ]
  const [base, other] = summarise(outcomes, 'base')
  expect(base?.ratio).toEqual({ median: 1, min: 1, max: 1 })
  expect(other?.ratio).toEqual({ median: 1, min: 0.5, max: 2 })
  expect(other?.seconds).toEqual({ median: 0.2, min: 0.05, max: 0.8 })
  expect(spread([4, 1, 3, 2])).toEqual({ median: 2.5, min: 1, max: 4 })
  expect(() => summarise(outcomes, 'none')).toThrow('no variant is named "none"')
})
