import { expect, test } from 'vitest'
import { onClient, type TestDatabase } from '../support/database.ts'
import { defineOperation } from '../../src/index.ts'
import { rescue } from '../../src/store/batches.ts'
import { openClient } from '../support/jobs.ts'
import { takeFirst } from '../support/taking.ts'
import { counters } from '../support/working.ts'
import { overOrWaiting } from '../support/locks.ts'

const count = defineOperation({ name: 'count', table: 'counters', perform: async () => 0 })
const expire = `update sluice.batch set lease_until = now() - interval '1 minute'`
const renewed = `update sluice.batch set lease_until = now() + interval '1 hour'`

/** A batch that is claimed for a minute from now on. */
async function claimed(): Promise<TestDatabase> {
  const db = await counters(100)
  await using _ = await takeFirst(db, count)
  return db
}

const nonce = (db: TestDatabase): Promise<string | null> => db.value('select nonce from sluice.batch')

test('a batch is rescued when its lease has run out, and not before', async () => {
  await using db = await claimed()
  await using client = await openClient(db.workerUrl)
  const by = onClient(client)
  const before = await nonce(db)
  expect(await rescue(by)).toEqual([])
  expect(await nonce(db)).toBe(before)
  await db.query(expire)
  expect(await rescue(by)).toMatchObject([{ crashes: 1 }])
  expect(await db.query('select state, nonce, crash_nonce from sluice.batch')).toEqual([
    { state: 'ready', nonce: null, crash_nonce: before },
  ])
})

test('a rescue skips a batch that is being worked on', async () => {
  await using db = await claimed()
  await using client = await openClient(db.workerUrl)
  await using holder = await openClient(db.workerUrl)
  const before = await nonce(db)
  await db.query(expire)
  await holder.query('begin')
  await holder.query(renewed)
  const rescued = rescue(onClient(client))
  const came = await overOrWaiting(db, rescued)
  await holder.query('commit')
  expect(await rescued).toEqual([])
  expect(await nonce(db)).toBe(before)
  expect(came).toBe('over')
})
