import { expect, inject, test } from 'vitest'
import { jobsBenchmark } from '../scenarios/jobs/jobs.ts'
import { jobsData, jobsReport } from '../scenarios/jobs/report.ts'

const sizes = {
  rounds: 1,
  sweepRounds: 0,
  warmUpJobs: 100,
  drainJobs: 1_000,
  snapshotJobs: 1_000,
  pickupSamples: 3,
  enqueueMs: 100,
  sizeJobs: 1_000,
}

// The peers come over the network, and a size is measured with autovacuum off for the whole server.
const systems = ['sluice', 'insert']
const only = ['drain', 'concurrentEnqueue']

test('the jobs benchmark runs without its peers, and says what Sluice reached', async () => {
  const said: string[] = []
  const url = inject('clusterUrl')

  const measured = await jobsBenchmark({ url, sizes, only, systems, say: (line) => said.push(line) })
  const about = { conditions: ['a condition'], command: 'npm run bench -- jobs' }
  const text = jobsReport(measured, about)

  expect(measured.taken.map(({ key }) => key)).toEqual(only)
  expect(said).toHaveLength(4)
  expect(text).toMatch(/^\| Sluice +\| [\d.,]+ \[[\d.,]+\] +\| – +\|$/m)
  expect(text).toMatch(/^\| concurrentEnqueue: ÷ INSERT +\| [\d.]+ +\| ≥ 5 +\| ≥ 10 +\| (aim|least|no) +\|$/m)
  expect(jobsData(measured, about)).toMatchObject({
    ratios: { concurrentEnqueue: { Sluice: { ratio: { median: expect.any(Number) } } } },
  })
})

test.each([
  [{ only: ['drian'] }, '--only knows no "drian"'],
  [{ systems: ['kafka'] }, '--systems knows no "kafka"'],
])('an unknown word of the jobs benchmark is refused', async (choice, said) => {
  const run = jobsBenchmark({ url: 'postgres://nowhere', sizes, ...choice, say: () => undefined })
  await expect(run).rejects.toThrow(said)
})
