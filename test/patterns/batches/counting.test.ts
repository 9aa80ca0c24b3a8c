import { expect, test } from 'vitest'
import { onClient } from '../../support/database.ts'
import { planned } from '../../../src/index.ts'
import { recount } from '../../../src/store/jobs/recount.ts'
import type { Database } from '../../../src/store/database.ts'
import { mendBatch } from '../../../src/store/job-batches.ts'
import { openClient } from '../../support/jobs.ts'
import { isWaiting } from '../../support/locks.ts'
import { until } from '../../support/wait.ts'
import { callbacks, gated, member, over, place, plain, type Place } from './place.ts'

/** Not due while a test runs: such members end only when the test says so. */
const later = { in: '1h' } as const

const xminOf = (at: Place, table: string): Promise<string> => at.db.value(`select xmin::text from sluice.${table}`)

test.each([
  ['succeeds', planned(plain), 'job_history'],
  ['succeeds in a transaction', planned(member, { n: 1 }), 'job_history'],
  ['dies', planned(gated, { n: 1 }), 'job_dead'],
] as const)('a member that %s is counted in the transaction that ends it', async (_, job, table) => {
  await using at = await place()
  const { id } = await at.worker.sluice.batches.run([job])
  await at.worker.sluice.start()
  await over(at, id)
  expect(await xminOf(at, 'job_batch_history')).toBe(await xminOf(at, table))
})

test('a member that is retried is taken off the count in the same transaction', async () => {
  await using at = await place()
  const { batches, jobs } = at.worker.sluice
  const { id, jobs: members } = await batches.run([planned(plain, undefined, later)])
  const [only] = members
  await jobs.discard(only?.id ?? 0)
  expect(await batches.get(id)).toMatchObject({ state: 'failed', failed: 1 })
  await jobs.retry(only?.id ?? 0)
  expect(await batches.get(id)).toMatchObject({ state: 'sealed', failed: 0, waiting: 1 })
  expect(await xminOf(at, 'job_batch')).toBe(await xminOf(at, 'job'))
})

test('an open batch is not over when all of its members have ended', async () => {
  await using at = await place()
  const { batches, jobs } = at.worker.sluice
  const open = await batches.open(callbacks(1))
  const { id } = await open.add(plain, undefined, later)
  await jobs.discard(id)
  expect(await batches.get(open.id)).toMatchObject({ state: 'open', total: 1, failed: 1, waiting: 0 })
  await open.seal()
  expect(await batches.get(open.id)).toMatchObject({ state: 'failed', total: 1, failed: 1 })
})

test('the last member to end waits for an open transaction that adds another', async () => {
  await using at = await place()
  const { batches, jobs } = at.worker.sluice
  const { id, jobs: members } = await batches.run([planned(plain, undefined, later)], callbacks(1))
  const first = members[0]?.id ?? 0
  await using client = await openClient(at.db.workerUrl)
  await client.query('begin')
  await jobs.enqueue(plain, undefined, { ...later, tx: client, batch: { id, member: first } })
  const discarded = jobs.discard(first)
  await until('the discard waits', () => isWaiting(at.db))
  await client.query('commit')
  await discarded
  const none = [{ jobId: null }, { jobId: null }, { jobId: null }]
  expect(await batches.get(id)).toMatchObject({ state: 'sealed', total: 2, failed: 1, waiting: 1, callbacks: none })
})

test('whoever counts a member locks the batch before its additions, as whoever seals does', async () => {
  await using at = await place()
  const { batches, jobs } = at.worker.sluice
  const open = await batches.open(callbacks(1))
  const [first] = await open.addMany(plain, [undefined, undefined], later)
  await using sealer = await openClient(at.db.url)
  await sealer.query('begin')
  await sealer.query('select from sluice.job_batch where id = $1 for update', [open.id])
  const discarded = jobs.discard(first?.id ?? 0)
  await until('the discard waits', () => isWaiting(at.db))
  await sealer.query('select sluice.fold_job_batch($1)', [open.id])
  await sealer.query('commit')
  await discarded
  expect(await batches.get(open.id)).toMatchObject({ state: 'open', total: 2, failed: 1, waiting: 1 })
})

test('a member of a cancelled batch cannot add to it', async () => {
  await using at = await place()
  const { batches, jobs } = at.worker.sluice
  const { id, jobs: members } = await batches.run([planned(plain, undefined, later)], callbacks(1))
  // The first step of a cancel: the member is still there.
  await at.db.query(`select sluice.cancel_job_batch($1, 'half done')`, [id])
  const added = jobs.enqueue(plain, undefined, { batch: { id, member: members[0]?.id ?? 0 } })
  await expect(added).rejects.toMatchObject({ code: '55000', message: expect.stringContaining('is cancelled') })
  expect(await batches.get(id)).toMatchObject({ state: 'cancelling', total: 1 })
})

test('a batch is not recounted while another transaction counts one of its members', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const { id, jobs: members } = await batches.run([planned(plain, undefined, later), planned(plain, undefined, later)])
  await using counter = await openClient(at.db.url)
  await counter.query('begin')
  const [first] = members
  await counter.query(`select sluice.end_waiting_members(array[$1]::bigint[], 'discarded', 'by hand')`, [first?.id])
  await using mender = await openClient(at.db.url)
  // It must not wait at all; this ends the wait of one that does.
  await mender.query(`set lock_timeout = '2s'`)
  expect(await mendBatch(onClient(mender), { id, keepDays: 7 })).toEqual([{ news: [] }])
  await counter.query('commit')
  expect(await batches.get(id)).toMatchObject({ state: 'sealed', total: 2, failed: 1, waiting: 1 })
})

test('counters that run ahead do not end a batch that has members left, and a recount corrects them', async () => {
  await using at = await place()
  const { batches, jobs } = at.worker.sluice
  const two = [planned(plain, undefined, later), planned(plain, undefined, later)]
  const { id, jobs: members } = await batches.run(two, callbacks(1))
  await at.db.query('update sluice.job_batch set succeeded = 7')
  await jobs.discard(members[0]?.id ?? 0)
  expect(await batches.get(id)).toMatchObject({ state: 'sealed', callbacks: [{ jobId: null }, { jobId: null }, {}] })
  await using client = await openClient(at.db.workerUrl)
  await mendBatch(onClient(client), { id, keepDays: 7 })
  expect(await batches.get(id)).toMatchObject({ state: 'sealed', total: 2, succeeded: 0, failed: 1, waiting: 1 })
  await jobs.discard(members[1]?.id ?? 0)
  expect(await batches.get(id)).toMatchObject({ state: 'failed', total: 2, failed: 2 })
})

test('a recount ends a batch whose last member left no trace', async () => {
  await using at = await place()
  const { batches } = at.worker.sluice
  const { id } = await batches.run([planned(plain, undefined, later)], callbacks(1))
  await at.db.query('delete from sluice.job')
  await using client = await openClient(at.db.workerUrl)
  const control = onClient(client) as Database['control']
  const [mended] = await mendBatch(control, { id, keepDays: 7 })
  // Only history can tell that the member did not succeed.
  const [unclear] = mended?.news ?? []
  if (unclear?.event !== 'unclear') return expect.unreachable()
  await recount(unclear, { database: { control }, keepDays: 7, stopping: new AbortController().signal })
  const called = [{ jobId: null }, { kind: 'complete', jobId: expect.any(Number) }, { jobId: null }]
  expect(await batches.get(id)).toMatchObject({ state: 'failed', total: 1, failed: 1, callbacks: called })
})
