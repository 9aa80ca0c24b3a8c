import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { Sluice } from '../../src/index.ts'
import { testJobs, type TestJobs } from '../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../../test/support/database.ts'
import { activateAccount, reconcileAccounts } from './jobs.ts'
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
  await db.query('truncate accounts')
})

/** What a sign-up does: a record and its job. */
async function signUp(age = '2 minutes'): Promise<{ accountId: number }> {
  const accountId = await db.value<number>(
    'insert into accounts (created_at) values (now() - $1::interval) returning id::int',
    [age],
  )
  await sluice.jobs.enqueue(activateAccount, { accountId })
  return { accountId }
}

/** What the clock does every minute. */
async function reconcile(): Promise<void> {
  await sluice.jobs.enqueue(reconcileAccounts, undefined, { priority: 'high' })
  await jobs.drain()
}

const credits = async (): Promise<number[]> =>
  (await db.query<{ credits: number }>('select credits from accounts order by id')).map((row) => row.credits)

test('the whole queue is deleted, and heals', async () => {
  for (let i = 0; i < 3; i++) await signUp()
  await jobs.drain({ limit: 1 })
  expect(await jobs.clear()).toBe(2)
  expect(await jobs.drain()).toEqual([])
  expect(await credits()).toEqual([100, 0, 0])

  await reconcile()

  expect(await credits()).toEqual([100, 100, 100])
})

test('what waits in the queue is not enqueued twice', async () => {
  const first = await signUp()
  await jobs.clear()
  const second = await signUp()
  expect((await jobs.run(reconcileAccounts)).enqueued.map(({ args }) => args)).toEqual([first, second])
  await sluice.jobs.enqueue(reconcileAccounts, undefined, { priority: 'high' })
  await jobs.drain({ limit: 1 })
  expect((await jobs.enqueued(activateAccount)).map(({ args }) => args)).toEqual([second, first])
})

test('what is young is left to its own job', async () => {
  const young = await signUp('10 seconds')
  expect((await jobs.run(reconcileAccounts)).enqueued).toEqual([])
  await jobs.assertEnqueued(activateAccount, young)
})

test('twice, one after the other or at once, is as good as once', async () => {
  const account = await signUp()
  await Promise.all([jobs.run(activateAccount, account), jobs.run(activateAccount, account)])
  expect(await jobs.drain()).toMatchObject([{ ending: { kind: 'succeeded' } }])
  expect(await credits()).toEqual([100])
})
