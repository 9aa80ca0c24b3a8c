// What goes to `tx` and is in no transaction would stay when the caller rolls back.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineJob, defineOperation, planned, Sluice, type Connection } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { liveJobs, openClient } from '../support/jobs.ts'

const work = defineJob({ name: 'work', perform: () => undefined })
const tidy = defineOperation({ name: 'tidy', table: 'notes', perform: async () => undefined })

let db: TestDatabase
let sluice: Sluice

beforeAll(async () => {
  db = await testDatabase()
  await db.query('create table notes (id int primary key)')
  sluice = new Sluice({ database: db.workerUrl, jobs: [work], operations: [tidy] })
})

afterAll(async () => {
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

const calls: [name: string, call: (tx: Connection) => Promise<unknown>][] = [
  ['enqueue', (tx) => sluice.jobs.enqueue(work, undefined, { tx })],
  ['enqueueMany', (tx) => sluice.jobs.enqueueMany(work, [undefined, undefined], { tx })],
  ['batches.run', (tx) => sluice.batches.run([planned(work)], { tx })],
  ['operations.start', (tx) => sluice.operations.start(tidy, undefined, { tx })],
]

test.each(calls)('%s refuses a pool, and records nothing', async (_name, call) => {
  const pool = new pg.Pool({ connectionString: db.workerUrl })
  try {
    await expect(call(pool as never)).rejects.toMatchObject({
      code: 'TRANSACTION_INVALID',
      message: expect.stringContaining('is a pool') as string,
    })
  } finally {
    await pool.end()
  }
  expect(await liveJobs(db)).toBe(0)
})

test.each(calls)('%s refuses a client before its begin and after its end, and records nothing', async (_name, call) => {
  await using client = await openClient(db.workerUrl)
  await expect(call(client)).rejects.toMatchObject({ code: 'TRANSACTION_INVALID' })
  await client.query('begin')
  await call(client)
  await client.query('rollback')
  await expect(call(client)).rejects.toMatchObject({ code: 'TRANSACTION_INVALID' })
  expect(await liveJobs(db)).toBe(0)
  expect(await db.value('select count(*)::int from sluice.operation')).toBe(0)
})

test('a begin that is still under way counts', async () => {
  await sluice.jobs.enqueue(work, undefined, { in: '1d' })
  await using client = await openClient(db.workerUrl)
  const begun = client.query('begin')
  await sluice.jobs.enqueue(work, undefined, { tx: client })
  await begun
  await client.query('rollback')
  expect(await liveJobs(db)).toBe(1)
})
