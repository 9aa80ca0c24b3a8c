import { expect, inject, test } from 'vitest'
import { caught } from '../torture/caught.ts'
import { plant } from '../torture/mutants.ts'
import { tortureWebhooks } from '../torture/webhooks/scenario.ts'

const limit = { timeout: 480_000 }

test('a planted bug, the mark committed before the effect, is caught by this suite', limit, async () => {
  await using planted = await plant('inbox-marked-outside')
  const plan = { clusterUrl: inject('clusterUrl'), notifications: 40, kills: 1, webKills: 0, pauseMs: 300 }
  const shows = async (): Promise<boolean> => (await tortureWebhooks({ ...plan, package: planted.package })).missing > 0
  expect(await caught(shows)).toBe(true)
})
