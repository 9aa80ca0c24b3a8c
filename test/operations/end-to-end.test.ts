import { expect, test } from 'vitest'
import { expire, Sluice } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { EventLog } from '../support/events.ts'
import { testProfile } from '../support/worker.ts'

test('an expiry deletes exactly the aged rows and ends in history', async () => {
  await using db = await testDatabase()
  await db.query(
    `create table events (id bigint generated always as identity primary key, created_at timestamptz not null)`,
  )
  await db.query(`insert into events (created_at)
    select now() - make_interval(days => 80 + n % 20) from generate_series(1, 10000) n`)
  await db.query('analyze events')
  const aged = await db.value<number>(`select count(*)::int from events where created_at < now() - interval '90 days'`)
  const expireEvents = expire({
    name: 'expire-events',
    table: 'events',
    olderThan: '90 days',
    by: 'created_at',
    batchSize: 3_000,
    subBatchSize: 500,
  })
  await using sluice = new Sluice({ ...testProfile, database: db.workerUrl, operations: [expireEvents] })
  const events = new EventLog()
  sluice.onAny((event) => events.push(event))

  await sluice.start()
  const { id, duplicate } = await sluice.operations.start(expireEvents)
  const finished = await events.event('operation.finished')

  // Four of the first pass, and two of the second, over what is left.
  expect(duplicate).toBe(false)
  expect(finished).toMatchObject({ operationId: id, rowsSeen: 10_000, rowsChanged: aged, batches: 6 })
  expect(await db.value(`select count(*)::int from events where created_at < now() - interval '90 days'`)).toBe(0)
  expect(await db.value('select count(*)::int from events')).toBe(10_000 - aged)
  expect(await sluice.operations.get(id)).toMatchObject({ state: 'finished', progress: 1, rowsChanged: aged })
  expect(await db.value('select count(*)::int from sluice.operation')).toBe(0)
  expect(await db.value('select count(*)::int from sluice.batch')).toBe(0)
  expect(await db.value('select count(*)::int from sluice.batch_history')).toBe(6)
})
