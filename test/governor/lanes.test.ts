import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { defineOperation, defineProbe, sql } from '../../src/index.ts'
import { nextLanes, trialMs } from '../../src/governor/lanes.ts'
import { until } from '../support/wait.ts'
import { alone, testProfile } from '../support/worker.ts'
import { counters, working } from '../support/working.ts'

const calm = { lanes: 2, most: 4, rate: 1_000, rateBelow: undefined, rateAbove: undefined, share: 1, load: 0 }

test.each([
  ['one more while nothing limits the work', calm, 3],
  ['one more when the last one has paid', { ...calm, rateBelow: 600 }, 3],
  ['one less when the last one has not paid', { ...calm, rateBelow: 980 }, 1],
  ['as many when one more is known not to pay', { ...calm, rateBelow: 600, rateAbove: 1_010 }, 2],
  ['as many when there are as many as may be', { ...calm, lanes: 4 }, 4],
  ['as many until it is known what they bring', { ...calm, rate: undefined }, 2],
  ['as many while something slows the work a little', { ...calm, share: 0.8 }, 2],
  ['one less when something slows it by half', { ...calm, share: 0.4 }, 1],
  ['one less when others need the database', { ...calm, load: 0.9 }, 1],
  ['never less than one', { ...calm, lanes: 1, load: 1 }, 1],
])('%s', (_, state, lanes) => {
  expect(nextLanes(state)).toBe(lanes)
})

test('a number of lanes is tried for a second, and more of them than cores are tried late', () => {
  expect(trialMs({ lanes: 1, next: 2, cores: 2 })).toBe(1_000)
  expect(trialMs({ lanes: 3, next: 2, cores: 2 })).toBe(1_000)
  expect(trialMs({ lanes: 2, next: 3, cores: 2 })).toBe(10_000)
  expect(trialMs({ lanes: 4, next: 5, cores: 2 })).toBe(10_000)
})

test('automatic lanes become fewer under stress and more again afterwards, and a number ends that', async () => {
  await using db = await counters(20_000)
  let stress = 60
  const dial = defineProbe({ name: 'dial', soft: 10, hard: 100, read: () => stress })
  const automatic = defineOperation({
    name: 'add-one',
    table: 'counters',
    batchSize: 200,
    subBatchSize: 10,
    lanes: 'auto',
    async perform({ batch }) {
      await sleep(20)
      return batch.update(sql`n = n + 1`)
    },
  })
  const { sluice } = working(db, [automatic], {
    governor: { ...alone, every: '50ms' },
    probes: [dial],
    worker: { ...testProfile.worker, concurrency: 3 },
  })
  await using _ = sluice
  const { id } = await sluice.operations.start(automatic)
  expect(await sluice.operations.get(id)).toMatchObject({ lanes: 2, mostLanes: 8 })
  await sluice.start()
  await until('there is one lane', async () => (await sluice.operations.get(id)).lanes === 1)
  stress = 0
  await until('there are more', async () => (await sluice.operations.get(id)).lanes > 1)
  expect(await sluice.operations.set(id, { lanes: 3 })).toMatchObject({ lanes: 3, mostLanes: null })
  expect(await sluice.operations.set(id, { lanes: 'auto' })).toMatchObject({ lanes: 2, mostLanes: 8 })
  await sluice.operations.cancel(id)
  await sluice.operations.wait(id, { everyMs: 20 })
  expect(await db.value('select max(n)::int from counters')).toBe(1)
})
