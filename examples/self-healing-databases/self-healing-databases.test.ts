import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Sluice } from '../../src/index.ts'
import { testJobs, type TestJobs } from '../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../../test/support/database.ts'
import { createDatabase, pendingDatabases } from './jobs.ts'
import { made, provider } from './provider.ts'
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
  await db.query('truncate databases')
  made.clear()
  provider.asked = 0
})

/** What an order does: a record and its job. */
async function order(age = '3 minutes'): Promise<{ databaseId: number }> {
  const databaseId = await db.value<number>(
    `insert into databases (name, updated_at) values ('mine', now() - $1::interval) returning id::int`,
    [age],
  )
  await sluice.jobs.enqueue(createDatabase, { databaseId })
  return { databaseId }
}

/** Lets everything run that is due within a minute. */
async function aMinuteLater(): Promise<void> {
  await jobs.clock.travel('1m')
  await jobs.drain()
}

const ready = (): Promise<number> =>
  db.value(`select count(*)::int from databases where state = 'ready' and host is not null`)

test('the whole queue is deleted, and heals', async () => {
  for (let i = 0; i < 5; i++) await order()
  await jobs.drain({ limit: 2 })
  expect(await jobs.clear()).toBe(3)
  await aMinuteLater()
  expect(await ready()).toBe(2)

  expect(await sluice.reconcilers.run(pendingDatabases)).toMatchObject({ found: 3, enqueued: 3 })
  await aMinuteLater()

  expect(await ready()).toBe(5)
  expect(made.size).toBe(5)
  expect(await sluice.reconcilers.run(pendingDatabases)).toMatchObject({ found: 0 })
})

test('what waits in the queue is not enqueued twice', async () => {
  await order()
  await jobs.clear()
  await order()
  expect(await sluice.reconcilers.run(pendingDatabases)).toMatchObject({ found: 2, enqueued: 1, duplicates: 1 })
  expect(await jobs.enqueued()).toHaveLength(2)
})

test('what is young is left to its own job', async () => {
  const young = await order('10 seconds')
  expect(await sluice.reconcilers.run(pendingDatabases)).toMatchObject({ found: 0 })
  await jobs.assertEnqueued(createDatabase, young)
})

test('twice, one after the other or at once, is as good as once', async () => {
  const database = await order()
  await Promise.all([jobs.run(createDatabase, database), jobs.run(createDatabase, database)])
  expect(await jobs.drain()).toMatchObject([{ ending: { kind: 'succeeded', left: 'nothing to do' } }])
  expect(await ready()).toBe(1)
  expect(made.size).toBe(1)
})
