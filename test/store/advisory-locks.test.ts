// Any login of a server can take any advisory lock, so nothing that we wait for may be one.
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { lockAlerts } from '../../src/store/alerts.ts'
import { onClient, testDatabase } from '../support/database.ts'
import { jobWorker, openClient, startedWorker } from '../support/jobs.ts'
import { overOrWaiting } from '../support/locks.ts'

const keyed = defineJob({ name: 'keyed', concurrency: { limit: 1, key: () => 'k' }, perform: () => undefined })

/** What was locked by these names once. */
const held = `select pg_advisory_lock(hashtextextended('sluice.job_key', hashtextextended('k', 0))),
  pg_advisory_lock(hashtextextended('sluice.create_partitions', 0)),
  pg_advisory_lock(hashtextextended('sluice.alert', 0))`

test('a login that holds advisory locks keeps no job with a concurrency key from being let in', async () => {
  await using db = await testDatabase()
  await using other = await openClient(db.url)
  await other.query(held)
  await using client = jobWorker(db, [keyed])

  const enqueued = client.jobs.enqueue(keyed)

  expect(await overOrWaiting(db, enqueued)).toBe('over')
  await using worker = await startedWorker(db, [keyed])
  expect(await worker.events.event('job.finished')).toMatchObject({ jobId: (await enqueued).id })
})

test('a login that holds advisory locks keeps nobody from creating partitions', async () => {
  await using db = await testDatabase()
  await using other = await openClient(db.url)
  await other.query(held)
  await using worker = await openClient(db.workerUrl)

  expect(await overOrWaiting(db, worker.query('select sluice.create_job_partitions(3)'))).toBe('over')
})

test('a login that holds advisory locks keeps nobody from judging alerts', async () => {
  await using db = await testDatabase()
  await using other = await openClient(db.url)
  await other.query(held)
  await using worker = await openClient(db.workerUrl)

  expect(await lockAlerts(onClient(worker))).toEqual([{ locked: true }])
})

test('partitions are created one after the other also after a restore that has left out the row that is locked', async () => {
  await using db = await testDatabase()
  await db.query('delete from sluice.partition_turn')
  await using first = await openClient(db.url)
  await first.query('begin')
  await first.query('select sluice.lock_partitions()')
  await using worker = await openClient(db.workerUrl)

  const second = worker.query('select sluice.create_job_partitions(3)')

  expect(await overOrWaiting(db, second)).toBe('waiting')
  await first.query('commit')
  await second
})

test('alerts are judged also after a restore that has left out the row that is locked', async () => {
  await using db = await testDatabase()
  await db.query('delete from sluice.alert_turn')
  await using worker = await openClient(db.workerUrl)

  expect(await lockAlerts(onClient(worker))).toEqual([{ locked: true }])
  expect(await lockAlerts(onClient(worker))).toEqual([{ locked: true }])
  expect(await db.value('select count(*)::int from sluice.alert_turn')).toBe(1)
})
