import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { RenewalOrder } from '../../src/runtime/renewal-thread.ts'
import { openRenewal } from '../../src/runtime/renewal-thread.ts'
import { testDatabase } from '../support/database.ts'
import { drained, startedWorker } from '../support/jobs.ts'

/** The thread dies of an order without a board: what nothing should send it. */
function kill(): Promise<Error> {
  return new Promise((resolve) => openRenewal({} as RenewalOrder, resolve))
}

test('when the thread that extends leases dies, all workers of the process stop, and the next one has a new thread', async () => {
  await using db = await testDatabase()
  const noop = defineJob({ name: 'noop', perform: () => undefined })
  await using first = await startedWorker(db, [noop])
  await using second = await startedWorker(db, [noop])
  expect((await kill()).message).toContain('atomic access')
  for (const { events } of [first, second]) {
    expect(await events.event('warning')).toMatchObject({ message: expect.stringContaining('Leases are not renewed') })
    await events.event('worker.stopped')
  }
  expect(await first.sluice.workers()).toEqual([])
  await using third = await startedWorker(db, [noop])
  await third.jobs.enqueue(noop)
  await drained(db)
  expect(third.events.count('warning')).toBe(0)
})
