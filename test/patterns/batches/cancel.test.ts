import { expect, test } from 'vitest'
import { planned } from '../../../src/index.ts'
import { drained, openClient } from '../../support/jobs.ts'
import { isWaiting } from '../../support/locks.ts'
import { until } from '../../support/wait.ts'
import { callbacks, endless, member, notes, over, place, plain } from './place.ts'

test('cancel ends what waits, stops what runs, reaches inside, and calls complete but not success', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const outer = await batches.open(callbacks(1))
  await batches.run([planned(member, { n: 1 }, { in: '1h' })], { ...callbacks(2), parent: outer })
  await outer.addMany(member, [{ n: 2 }, { n: 3 }], { in: '1h' })
  await outer.add(endless)
  await outer.add(plain)
  await at.worker.sluice.start()
  await at.worker.events.event('job.started', { nth: 2 })
  await until('one has ended', async () => (await batches.get(outer.id)).succeeded === 1)

  const cancelled = await batches.cancel(outer.id, { reason: 'not needed' })
  expect(['cancelling', 'cancelled']).toContain(cancelled.state)
  await expect(outer.add(plain)).rejects.toMatchObject({ code: 'BATCH_STATE' })
  expect(await over(at, outer.id)).toMatchObject({
    state: 'cancelled',
    total: 5,
    succeeded: 1,
    failed: 4,
    reason: 'not needed',
    callbacks: [{ jobId: null }, { jobId: expect.any(Number) }, { jobId: null }],
  })
  await drained(at.db)
  expect(await notes(at)).toEqual(['completed 1', 'completed 2'])
  await expect(batches.cancel(outer.id)).rejects.toMatchObject({ code: 'BATCH_STATE' })
  await expect(batches.cancel(999_999)).rejects.toMatchObject({ code: 'BATCH_NOT_FOUND' })
})

test('an empty batch that is cancelled is over at once', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const { id } = await batches.open(callbacks(1))
  expect(await batches.cancel(id)).toMatchObject({ state: 'cancelled', total: 0 })
  await at.worker.sluice.start()
  await drained(at.db)
  expect(await notes(at)).toEqual(['completed 1'])
})

test('a cancel that was interrupted is gone on with by the sweep', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const { id } = await batches.run([planned(member, { n: 1 }, { in: '1h' })], callbacks(1))
  // All that the first step of a cancel does.
  await at.db.query(`select sluice.cancel_job_batch($1, 'half done')`, [id])
  expect(await batches.get(id)).toMatchObject({ state: 'cancelling', waiting: 1 })
  await at.worker.sluice.start()
  expect(await over(at, id)).toMatchObject({ state: 'cancelled', failed: 1 })
})

test('a retried member of a cancelled batch lifts the cancel', async () => {
  await using at = await place()
  const { batches, jobs } = at.worker.sluice
  const run = await batches.run([planned(member, { n: 1 }, { in: '1h' })], callbacks(1))
  expect(await batches.cancel(run.id)).toMatchObject({ state: 'cancelled' })
  await jobs.retry(run.jobs[0]?.id ?? 0)
  expect(await batches.get(run.id)).toMatchObject({ state: 'sealed', waiting: 1, failed: 0, reason: null })
  await at.worker.sluice.start()
  expect(await over(at, run.id)).toMatchObject({ state: 'succeeded' })
  await drained(at.db)
  expect(await notes(at)).toEqual(['completed 1', 'member 1', 'succeeded 1'])
})

test('who waits to cancel a member, because somebody has its batch locked, holds up no claim', async () => {
  await using at = await place()
  const { batches, jobs, queues } = at.worker.sluice
  const run = await batches.run([planned(plain, undefined, { queue: 'paused' })], callbacks(1))
  await queues.pause('paused')
  await using other = await openClient(at.db.url)
  await other.query('begin')
  await other.query('select from sluice.job_batch where id = $1 for update', [run.id])
  const ended = jobs.cancel(run.jobs[0]?.id ?? 0)
  await until('it waits', () => isWaiting(at.db, '%end_waiting%'))

  await at.worker.sluice.start()
  const { id } = await jobs.enqueue(plain)
  expect(await jobs.wait(id)).toMatchObject({ state: 'succeeded' })

  await other.query('rollback')
  expect(await ended).toMatchObject({ state: 'cancelled' })
  expect(await over(at, run.id)).toMatchObject({ state: 'failed', failed: 1 })
})
