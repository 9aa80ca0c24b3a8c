import type pg from 'pg'
import { expect, test } from 'vitest'
import { planned } from '../../../src/index.ts'
import type { UnclearBatch } from '../../../src/patterns/batches/batch-store.ts'
import { recount } from '../../../src/store/jobs/recount.ts'
import type { StoreConnection } from '../../../src/store/connection.ts'
import type { Database } from '../../../src/store/database.ts'
import { mendBatch } from '../../../src/store/job-batches.ts'
import { drained, jobWorker, openClient } from '../../support/jobs.ts'
import { callbacks, gated, member, notes, over, place, plain, type Place } from './place.ts'

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

/** A batch of three jobs that have all succeeded, sealed by hand: nobody has settled it, and the net is what does. */
async function unsettled(at: Place): Promise<number> {
  const batch = await at.worker.sluice.batches.open(callbacks(1))
  await batch.addMany(plain, [undefined, undefined, undefined])
  await at.worker.sluice.start()
  await drained(at.db)
  await at.worker.sluice.stop()
  await at.db.query('update sluice.job_batch set sealed_at = clock_timestamp()')
  return batch.id
}

/** Other jobs of the last three hours, one a second, and a batch that was opened before them and lost its counters. */
async function withHistory(at: Place): Promise<void> {
  await at.db.query(`select sluice.create_partition('job_history',
    date_trunc('day', clock_timestamp() at time zone 'UTC') - interval '1 day', 1)`)
  await at.db
    .query(`insert into sluice.job_history (id, claim_id, enqueued_at, finished_at, class_id, queue_id, wait_ms,
      run_ms, attempt)
    select 1000000 + n, n, t, t, 1, 1, 5, 5, 1
    from generate_series(1, 10800) n, lateral (select clock_timestamp() - n * interval '1 second' as t) at`)
  await at.db.query(`update sluice.job_batch set opened_at = clock_timestamp() - interval '3 hours', succeeded = 0`)
}

/** A connection of a worker that notes how many rows of history each statement reads. */
function counted(client: pg.Client, reads: number[]): StoreConnection {
  // What the session has read before counts until the statistics of the server have it.
  const readSoFar = async (): Promise<number> => {
    const { rows } = await client.query<{ read: number }>(
      `select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int as read
       from pg_stat_xact_user_tables where schemaname = 'sluice' and relname like 'job\\_history%'`,
    )
    return rows[0]?.read ?? 0
  }
  return {
    schema: 'sluice',
    async query(text, values) {
      await client.query('begin')
      const before = await readSoFar()
      const result = await client.query<Record<string, unknown>>(text, values)
      reads.push((await readSoFar()) - before)
      await client.query('commit')
      return result
    },
  }
}

async function unclearOf(control: StoreConnection, id: number): Promise<UnclearBatch> {
  const [mended] = await mendBatch(control, { id, keepDays: 7 })
  const [unclear] = mended?.news ?? []
  return unclear?.event === 'unclear' ? unclear : expect.unreachable()
}

test('counters that do not fit the members are mended by history read in small spans, none of them under a lock', async () => {
  await using at = await place()
  const id = await unsettled(at)
  await withHistory(at)
  await using client = await openClient(at.db.workerUrl)
  const reads: number[] = []
  const control = counted(client, reads)
  const by = {
    database: { control: control as Database['control'] },
    keepDays: 7,
    stopping: new AbortController().signal,
  }

  const first = await unclearOf(control, id)
  expect(first).toMatchObject({ gone: 3 })
  // As the end of a member does: the number that was found is worthless then.
  await at.db.query('update sluice.job_batch set touched_at = clock_timestamp()')
  expect(await recount(first, by)).toEqual([])

  const news = await recount(await unclearOf(control, id), by)
  expect(news).toMatchObject([
    { event: 'mended', total: 3, succeeded: 3, failed: 0 },
    { event: 'called' },
    { event: 'called' },
    { event: 'finished', state: 'succeeded' },
  ])
  // Twice the three hours, and what locks the batch reads nothing of them.
  expect(reads.filter((read) => read > 0).length).toBeGreaterThanOrEqual(2 * 35)
  expect(Math.max(...reads)).toBeLessThanOrEqual(310)
  expect([reads[0], reads.at(-1)]).toEqual([0, 0])
})

test('a worker mends a batch of jobs by hours of history', async () => {
  await using at = await place()
  const id = await unsettled(at)
  await withHistory(at)
  await using worker = jobWorker(at.db, [plain], {}, { worker: { lease: '3s' } })
  await worker.sluice.start()
  expect(await worker.events.event('job-batch.mended')).toMatchObject({ batchId: id, total: 3, succeeded: 3 })
  expect(await over(at, id)).toMatchObject({ state: 'succeeded', total: 3, succeeded: 3, failed: 0 })
})

test('a batch whose counters agree with its members is mended without a look at history', async () => {
  await using at = await place()
  const id = await unsettled(at)
  await using client = await openClient(at.db.workerUrl)
  await client.query('begin')

  const { rows } = await client.query<{ news: { event: string; succeeded?: number }[] }>(
    'select sluice.mend_job_batch($1, 7) as news',
    [id],
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
