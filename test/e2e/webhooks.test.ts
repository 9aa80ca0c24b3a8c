// The short form of `npm run torture -- webhooks`: real processes, real kills, and one row per notification at the end.
import { expect, inject, test } from 'vitest'
import { caught } from '../torture/caught.ts'
import { plant } from '../torture/mutants.ts'
import { tortureWebhooks, wrongIn } from '../torture/webhooks/scenario.ts'

const limit = { timeout: 480_000 }

test('a storm of deliveries, with workers and endpoints killed, leaves one row per notification', limit, async () => {
  const plan = { clusterUrl: inject('clusterUrl'), notifications: 150, kills: 2, webKills: 1 }
  const outcome = await tortureWebhooks(plan)
  expect(wrongIn(outcome)).toEqual([])
  expect(outcome).toMatchObject({ notifications: 150, deliveries: 525, kills: 2, webKills: 1 })
  expect(outcome.rescued).toBeGreaterThan(0)
})

test('a planted bug, the mark committed before the effect, is caught by this suite', limit, async () => {
  await using planted = await plant('inbox-marked-outside')
  const plan = { clusterUrl: inject('clusterUrl'), notifications: 40, kills: 1, webKills: 0, pauseMs: 300 }
  const shows = async (): Promise<boolean> => (await tortureWebhooks({ ...plan, package: planted.package })).missing > 0
  expect(await caught(shows)).toBe(true)
})
