// The short form of `npm run torture -- reconciler`: workers are killed and the queue is emptied under their hands.
import { expect, inject, test } from 'vitest'
import { failingIn, loseQueue, stories } from '../torture/reconciler/scenario.ts'

test.each(Object.entries(stories))(
  '%s come to their end, each once, whatever happens to the queue',
  async (_, story) => {
    const outcome = await loseQueue(story, {
      clusterUrl: inject('clusterUrl'),
      rows: 90,
      processes: 2,
      kills: 1,
      losses: 2,
    })
    expect(failingIn(outcome)).toEqual([])
    expect(outcome).toMatchObject({ rows: 90, kills: 1, losses: 2 })
  },
)
