import { expect, test } from 'vitest'
import { planned } from '../../../src/index.ts'
import { drained, openClient } from '../../support/jobs.ts'
import { callbacks, gated, member, notes, over, place, plain } from './place.ts'

test('the sweep repairs counters that were changed by hand', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const harms = ['succeeded = succeeded - 3', 'total = total + 5', 'total = 99, succeeded = 0, failed = 7']
  const open = await Promise.all(harms.map((_, n) => batches.open(callbacks(n))))
  for (const batch of open) await batch.addMany(plain, [undefined, undefined, undefined, undefined])
  await at.worker.sluice.start()
  await drained(at.db)
  // Before the last step, so that the seal finds nothing to finish.
  await at.db.query('update sluice.job_batch_addition set folded = true')
  for (const [n, batch] of open.entries()) {
    await at.db.query(`update sluice.job_batch set total = 4 where id = $1`, [batch.id])
    await at.db.query(`update sluice.job_batch set ${harms[n]} where id = $1`, [batch.id])
    await batch.seal()
    expect(await batches.get(batch.id)).toMatchObject({ state: 'sealed' })
  }
  for (const { id } of open) {
    expect(await over(at, id)).toMatchObject({ state: 'succeeded', total: 4, succeeded: 4, failed: 0 })
  }
  await at.worker.events.event('job-batch.mended', { nth: 3 })
  expect(at.worker.events.count('job-batch.mended')).toBe(3)
  await drained(at.db)
  expect(await notes(at)).toHaveLength(6)
})

test('counters that run ahead end nothing while members are left', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const { id, jobs } = await batches.run([planned(plain), planned(member, { n: 1 }, { in: '1h' })], callbacks(1))
  await at.db.query('update sluice.job_batch set succeeded = 7')
  await at.worker.sluice.start()
  await at.worker.events.event('job-batch.mended')
  expect(await batches.get(id)).toMatchObject({ state: 'sealed', total: 2, succeeded: 1, waiting: 1 })
  await at.worker.sluice.jobs.run(jobs[1]?.id ?? 0)
  expect(await over(at, id)).toMatchObject({ state: 'succeeded', total: 2, succeeded: 2 })
})

test('members that left no trace count as failed, and those that are dead stay dead', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const lost = planned(plain, undefined, { in: '1h', tags: ['lost'] })
  const { id } = await batches.run([planned(plain), planned(gated, { n: 1 }), lost], callbacks(1))
  await at.db.query(`delete from sluice.job where tags @> array['lost']`)
  await at.worker.sluice.start()
  expect(await over(at, id)).toMatchObject({ state: 'failed', total: 3, succeeded: 1, failed: 2 })
  await drained(at.db)
  expect(await notes(at)).toEqual(['completed 1', 'died 1'])
})

test('a batch whose counters agree with its members is mended without a look at history', async () => {
  await using at = await place()
  const batch = await at.worker.sluice.batches.open(callbacks(1))
  await batch.addMany(plain, [undefined, undefined, undefined])
  await at.worker.sluice.start()
  await drained(at.db)
  await at.worker.sluice.stop()
  // Nobody has settled it: the net is what does.
  await at.db.query('update sluice.job_batch set sealed_at = clock_timestamp()')
  await using client = await openClient(at.db.workerUrl)
  await client.query('begin')

  const { rows } = await client.query<{ news: { event: string; succeeded?: number }[] }>(
    'select sluice.mend_job_batch($1, 7) as news',
    [batch.id],
  )

  expect(rows[0]?.news).toContainEqual(
    expect.objectContaining({ event: 'finished', total: 3, succeeded: 3, failed: 0 }),
  )
  const { rows: counts } = await client.query(
    `select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int as read
     from pg_stat_xact_user_tables where schemaname = 'sluice' and relname like 'job\\_history%'`,
  )
  expect(counts).toEqual([{ read: 0 }])
  await client.query('rollback')
})
