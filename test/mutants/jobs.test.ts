import { expect, inject, test } from 'vitest'
import { caught } from '../torture/caught.ts'
import { tortureJobs } from '../torture/jobs/scenario.ts'
import { plant } from '../torture/mutants.ts'

const limit = { timeout: 480_000 }

test('a planted bug, the claim of a transactional job not locked, is caught by this suite', limit, async () => {
  await using planted = await plant('job-claim-not-locked')
  const shows = async (): Promise<boolean> => {
    const outcome = await tortureJobs({
      clusterUrl: inject('clusterUrl'),
      jobs: 100,
      harm: ['stop', 'stop'],
      secondsPerHarm: 3,
      package: planted.package,
    })
    expect(outcome.hits).toEqual({ stop: 2 })
    return outcome.doubled > 0
  }
  expect(await caught(shows)).toBe(true)
})
