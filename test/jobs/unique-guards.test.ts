import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { StoreConnection } from '../../src/store/connection.ts'
import { endWaiting } from '../../src/store/jobs/control.ts'
import { quarantinePoison } from '../../src/store/jobs/rescue.ts'
import { bury, complete } from '../../src/store/jobs/settle.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { jobWorker, openClient } from '../support/jobs.ts'
import { claimByHand } from './claim-by-hand.ts'
import { openStore, patient } from './store-by-hand.ts'
import { overOrWaiting } from '../support/locks.ts'

const once = defineJob({ name: 'once', unique: { until: 'success' }, perform: () => undefined })

const keys = (db: TestDatabase): Promise<number> => db.value('select count(*)::int from sluice.job_lock')

test('of two transactions that want the same unique key at once one gets it', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [once], {}, patient)
  // Names are made beforehand, so that nobody waits for those.
  await client.jobs.cancel((await client.jobs.enqueue(once)).id)
  await using first = await openClient(db.workerUrl)
  await first.query('begin')
  const { id } = await client.jobs.enqueue(once, undefined, { tx: first })

  const second = client.jobs.enqueue(once)
  await overOrWaiting(db, second)
  await first.query('commit')

  expect(await second).toEqual({ id, duplicate: true })
})

test('of two transactions that take over an expired unique key at once one gets it', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [once], {}, patient)
  await client.jobs.enqueue(once)
  await db.query(`update sluice.job_lock set expires_at = now() - interval '1 second'`)
  await using first = await openClient(db.workerUrl)
  await first.query('begin')
  const taken = await client.jobs.enqueue(once, undefined, { tx: first })
  expect(taken.duplicate).toBe(false)

  const second = client.jobs.enqueue(once)
  await overOrWaiting(db, second)
  await first.query('commit')

  expect(await second).toEqual({ id: taken.id, duplicate: true })
})

/** The statements that end a job. */
const endings = {
  completes: async (store: StoreConnection, id: number): Promise<unknown> =>
    complete(store, {
      done: [{ id, claimId: '1', waitMs: 0, runMs: 0, member: false, keyed: false }],
      emptyClaims: [],
    }),
  buries: async (store: StoreConnection, id: number): Promise<unknown> => {
    const burial = { id, claimId: '1', outcome: 'dead', reason: 'r', error: null, runMs: 0 } as const
    return bury(store, { burials: [burial], workerId: crypto.randomUUID() })
  },
  quarantines: async (store: StoreConnection, id: number): Promise<unknown> => {
    await store.query('update sluice.job set state = 4, claim_id = null, crashes = 3 where id = $1', [id])
    return quarantinePoison(store, { crashes: 3 })
  },
  cancels: async (store: StoreConnection, id: number): Promise<unknown> => {
    await store.query('delete from sluice.job_claim', [])
    return endWaiting(store, { ids: [id], outcome: 'cancelled', reason: 'r' })
  },
}
const ways = Object.keys(endings) as (keyof typeof endings)[]

test.each(ways)('the statement that %s a job frees its unique key', async (way) => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [once])
  await using store = await openStore(db)
  const { id } = await client.jobs.enqueue(once)
  expect((await claimByHand(db.workerUrl, 1)).ids).toEqual([id])
  expect(await keys(db)).toBe(1)

  await endings[way](store.control, id)

  expect({ jobs: await db.value('select count(*)::int from sluice.job'), keys: await keys(db) }).toEqual({
    jobs: 0,
    keys: 0,
  })
  expect(await client.jobs.enqueue(once)).toMatchObject({ duplicate: false })
})

test.each(ways)('the statement that %s a job leaves a unique key alone that another job has now', async (way) => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [once])
  await using store = await openStore(db)
  const old = await client.jobs.enqueue(once)
  await claimByHand(db.workerUrl, 1)
  await db.query(`update sluice.job_lock set expires_at = now() - interval '1 second'`)
  const { id } = await client.jobs.enqueue(once)

  await endings[way](store.control, old.id)

  expect(await db.query('select job_id::int as id from sluice.job_lock')).toEqual([{ id }])
})

test('a claim frees a unique key that holds until the start, and no other', async () => {
  await using db = await testDatabase()
  const early = defineJob({ name: 'early', unique: { until: 'start' }, perform: () => undefined })
  await using client = jobWorker(db, [once, early])
  const kept = await client.jobs.enqueue(once)
  const freed = await client.jobs.enqueue(early)
  expect(await keys(db)).toBe(2)

  expect((await claimByHand(db.workerUrl, 1)).ids).toEqual([kept.id, freed.id])

  expect(await db.query('select job_id::int as id from sluice.job_lock')).toEqual([{ id: kept.id }])
})
