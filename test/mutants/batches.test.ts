import { expect, inject, test } from 'vitest'
import { caught } from '../torture/caught.ts'
import { tortureBatches } from '../torture/batches/scenario.ts'
import { wrongIn } from '../torture/batches/verdict.ts'
import { plant } from '../torture/mutants.ts'

const limit = { timeout: 480_000 }

test(
  'a planted bug, members counted after the transaction that ended them, is caught by this suite',
  limit,
  async () => {
    await using planted = await plant('batch-counted-later')
    const shows = async (): Promise<boolean> => {
      const outcome = await tortureBatches({
        clusterUrl: inject('clusterUrl'),
        batches: 4,
        size: 30,
        harm: ['kill', 'kill', 'kill', 'kill'],
        secondsPerHarm: 0.8,
        package: planted.package,
      })
      expect(outcome.hits).toEqual({ kill: 4 })
      return wrongIn(outcome).length > 0
    }
    expect(await caught(shows)).toBe(true)
  },
)
