// The short form of `npm run torture -- webhooks`: real processes, real kills, and one row per notification at the end.
import { expect, inject, test } from 'vitest'
import { tortureWebhooks, wrongIn } from '../torture/webhooks/scenario.ts'

test('a storm of deliveries, with workers and endpoints killed, leaves one row per notification', async () => {
  const plan = { clusterUrl: inject('clusterUrl'), notifications: 150, kills: 2, webKills: 1 }
  const outcome = await tortureWebhooks(plan)
  expect(wrongIn(outcome)).toEqual([])
  expect(outcome).toMatchObject({ notifications: 150, deliveries: 525, kills: 2, webKills: 1 })
  expect(outcome.rescued).toBeGreaterThan(0)
})
