import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { takeTokens } from '../../src/store/jobs/claim.ts'
import { onClient, testDatabase, type TestDatabase } from '../support/database.ts'
import { jobWorker, openClient } from '../support/jobs.ts'
import { openStore, takerOf } from './store-by-hand.ts'
import { overOrWaiting } from '../support/locks.ts'

const plain = defineJob({ name: 'plain', perform: () => undefined })

/** A queue that starts up to five jobs a day. */
async function withRate(db: TestDatabase): Promise<number> {
  await using client = jobWorker(db, [plain])
  await client.jobs.enqueue(plain, undefined, { queue: 'api' })
  await client.sluice.queues.limit('api', { limit: 5, per: '1d' })
  return db.value(`select id from sluice.queue where name = 'api'`)
}

const tokens = (db: TestDatabase): Promise<number> =>
  db.value(`select floor(tokens)::int from sluice.queue where name = 'api'`)

test('a queue with a rate grants the tokens that it has, and then none', async () => {
  await using db = await testDatabase()
  await using database = await openStore(db)
  const queueId = await withRate(db)

  expect(await takeTokens(database.control, { queueId, wanted: 8 })).toEqual([{ granted: 5 }])

  expect(await takeTokens(database.control, { queueId, wanted: 8 })).toEqual([{ granted: 0 }])
})

test('two workers that take tokens at once do not get the same ones', async () => {
  await using db = await testDatabase()
  await using database = await openStore(db)
  const queueId = await withRate(db)
  await using first = await openClient(db.workerUrl)
  await first.query('begin')
  expect(await takeTokens(onClient(first), { queueId, wanted: 4 })).toEqual([{ granted: 4 }])

  const second = takeTokens(database.control, { queueId, wanted: 4 })
  await overOrWaiting(db, second)
  await first.query('commit')

  expect(await second).toEqual([{ granted: 1 }])
})

test('a worker takes a token for each job of a queue with a rate, and returns the rest', async () => {
  await using db = await testDatabase()
  await using database = await openStore(db)
  await withRate(db)

  const take = await takerOf(database, [plain])

  expect(await take()).toHaveLength(1)
  expect(await tokens(db)).toBe(4)
  await db.query(`update sluice.queue set tokens = 0, tokens_at = now()`)
  await using client = jobWorker(db, [plain])
  await client.jobs.enqueue(plain, undefined, { queue: 'api' })
  expect(await take()).toEqual([])
})

test('a worker looks at all jobs again after a crash of the server', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await using database = await openStore(db)
  const [early, late] = [await client.jobs.enqueue(plain), await client.jobs.enqueue(plain)]
  await db.query('update sluice.job set state = 1 where id = $1', [early.id])
  const take = await takerOf(database, [plain])
  expect(await take()).toEqual([late.id])
  // What a crash may do: a job that was seen is new again, and the server has begun another life.
  await db.query('truncate sluice.server_life')
  await db.query('update sluice.job set state = 0 where id = $1', [early.id])

  const taken = [...(await take()), ...(await take())]

  expect(taken).toEqual([early.id])
})
