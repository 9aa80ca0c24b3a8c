import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Sluice } from '../../src/index.ts'
import { testJobs, testSchedules, type TestJobs } from '../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../../test/support/database.ts'
import { deleteOldData, deleteSome, hourly } from './jobs.ts'
import config from './sluice.config.ts'

let db: TestDatabase
let sluice: Sluice
let jobs: TestJobs

beforeAll(async () => {
  db = await testDatabase()
  sluice = new Sluice({ ...config, database: db.workerUrl })
  jobs = testJobs(sluice)
  await db.query(await readFile(new URL('schema.sql', import.meta.url), 'utf8'))
})

afterAll(async () => {
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

beforeEach(async () => {
  await jobs.clear()
  await db.query('truncate data')
})

/** Adds rows of an age; gives their ids. */
async function create(age: string, count = 1): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    `insert into data (created_at) select now() - $1::interval from generate_series(1, $2) returning id::int`,
    [age, count],
  )
  return rows.map(({ id }) => id)
}

const kept = async (): Promise<number[]> =>
  (await db.query<{ id: number }>('select id::int from data order by id')).map(({ id }) => id)

test('deletes data over 3 months old', async () => {
  await create('3 months 1 hour')
  const retained = await create('3 months -1 hour')
  const { ending } = await jobs.run(deleteOldData, {})
  expect(ending).toEqual({ kind: 'succeeded' })
  expect(await kept()).toEqual(retained)
})

test('requeues if more to delete', async () => {
  await create('3 months 1 hour', 2)
  const { enqueued } = await jobs.run(deleteOldData, { limit: 1 })
  expect(enqueued).toMatchObject([{ name: 'delete-old-data', queue: 'background', args: { limit: 1 } }])
  expect(await kept()).toHaveLength(1)
})

test('does not requeue after the last of it', async () => {
  await create('3 months 1 hour', 2)
  const { enqueued } = await jobs.run(deleteOldData, { limit: 3 })
  expect(enqueued).toEqual([])
  expect(await kept()).toEqual([])
})

test('works off a backlog run by run, and then rests', async () => {
  await create('4 months', 2_200)
  const retained = await create('1 day', 10)
  await sluice.jobs.enqueue(deleteOldData, {})
  const drained = await jobs.drain()
  expect(drained.map(({ ending }) => ending.kind)).toEqual(Array.from({ length: 5 }, () => 'succeeded'))
  expect(await kept()).toEqual(retained)
  await jobs.assertNotEnqueued(deleteOldData)
})

test('a second one does not wait beside the first, however often the hour comes', async () => {
  const first = await sluice.jobs.enqueue(deleteOldData, {})
  expect(await sluice.jobs.enqueue(deleteOldData, { limit: 10 })).toEqual({ id: first.id, duplicate: true })
  expect(await jobs.enqueued(deleteOldData)).toHaveLength(1)
  // After an hour without a worker the next may wait as well; they still run one after the other.
  await jobs.clock.travel('61m')
  expect(await sluice.jobs.enqueue(deleteOldData, {})).toMatchObject({ duplicate: false })
  expect(await jobs.drain()).toHaveLength(2)
})

test('every hour begins a chain, unless one waits to begin', async () => {
  const schedules = testSchedules(sluice)
  const day = { after: new Date('2026-03-28T23:30:00Z'), upTo: new Date('2026-03-29T23:30:00Z') }
  expect(schedules.ticksOf(hourly, day)).toHaveLength(24)
  await create('4 months', 600)
  const [tick, ...others] = await schedules.pass(hourly, '1h')
  expect(tick).toMatchObject({ outcome: 'started', reason: null })
  expect(others).toEqual([])
  await jobs.assertEnqueued(deleteOldData, {})
  // The job of the hour before has not begun: the next hour starts nothing.
  await db.query(`delete from sluice.schedule_tick`)
  expect(await schedules.pass(hourly, '1h')).toMatchObject([
    { outcome: 'skipped', reason: `blocked by job ${tick?.jobId}` },
  ])
  expect(await jobs.drain()).toHaveLength(2)
  expect(await kept()).toEqual([])
})

test('a failure is left to the next hour', async () => {
  const aged = await create('4 months')
  await db.query(`create rule keep as on delete to data do instead select 1 / 0`)
  const { id } = await sluice.jobs.enqueue(deleteOldData, {})
  expect(await jobs.drain()).toMatchObject([{ ending: { kind: 'dead', reason: 'the job is not retried' } }])
  expect(await sluice.jobs.get(id)).toMatchObject({ state: 'dead', error: { message: 'division by zero' } })
  expect(await kept()).toEqual(aged)
  await db.query('drop rule keep on data')
  await sluice.jobs.enqueue(deleteOldData, {})
  expect(await jobs.drain()).toMatchObject([{ ending: { kind: 'succeeded' } }])
  expect(await kept()).toEqual([])
})

test('finds the rows by an index', async () => {
  await create('4 months', 100)
  await create('1 day', 20_000)
  await db.query('analyze data')
  const plan = await db.query<{ 'QUERY PLAN': string }>(`explain ${deleteSome.replace('$1', '500')}`)
  const text = plan.map((line) => line['QUERY PLAN']).join('\n')
  expect(text).toContain('data_created_at_idx')
  expect(text).not.toContain('Seq Scan')
})
