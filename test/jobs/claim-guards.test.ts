import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { endWaiting } from '../../src/store/jobs/control.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { jobWorker, openClient } from '../support/jobs.ts'
import { claimByHand } from './claim-by-hand.ts'
import { openStore, patient } from './store-by-hand.ts'
import { overOrWaiting } from '../support/locks.ts'

const plain = defineJob({ name: 'plain', perform: () => undefined })

/** Where a job may stand when it is claimed. */
const places = {
  new: { state: 0 },
  'next in line': { state: 4 },
  due: { state: 2 },
}
const names = Object.keys(places) as (keyof typeof places)[]

const put = (db: TestDatabase, id: number, place: keyof typeof places): Promise<object[]> =>
  db.query('update sluice.job set state = $2 where id = $1', [id, places[place].state])

/** Claims everything in an open transaction. */
const claimIn = `select sluice.claim_jobs(1, gen_random_uuid(), array(select name from sluice.job_class),
    array[q.id], array[q.id], '{1}', '{0}', 10, 10, 1, null, 0)
  from sluice.queue q where q.name = 'default'`

test.each(names)('a job that was %s and is claimed is not claimed again', async (place) => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  const [first, second] = [await client.jobs.enqueue(plain), await client.jobs.enqueue(plain)]
  await put(db, first.id, place)
  await db.query('update sluice.job set state = 1 where id = $1', [second.id])
  expect((await claimByHand(db.workerUrl, 1)).ids).toEqual([first.id])
  await put(db, second.id, place)

  expect((await claimByHand(db.workerUrl, 2)).ids).toEqual([second.id])
})

test('of two workers that look at the same time only one gets a new job', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await client.jobs.enqueue(plain)
  await using first = await openClient(db.workerUrl)
  await first.query('begin')
  await first.query(claimIn)

  const second = claimByHand(db.workerUrl, 2)
  await overOrWaiting(db, second)
  await first.query('commit')

  expect((await second).ids).toEqual([])
})

test.each(['repeatable read', 'serializable'])('to claim in a transaction that is %s is refused', async (level) => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await client.jobs.enqueue(plain)
  await using strict = await openClient(db.workerUrl)
  await strict.query(`begin isolation level ${level}`)
  const refused = { code: '25000', message: expect.stringContaining(`needs a read committed transaction`) }
  await expect(strict.query(claimIn)).rejects.toMatchObject(refused)
})

test.each(names)('a worker leaves a job alone that is %s and whose name it does not know', async (place) => {
  await using db = await testDatabase()
  const other = defineJob({ name: 'other', perform: () => undefined })
  await using client = jobWorker(db, [plain, other])
  const unknown = await client.jobs.enqueue(other)
  const known = await client.jobs.enqueue(plain)
  for (const { id } of [unknown, known]) await put(db, id, place)
  await using worker = await openClient(db.workerUrl)

  const { rows } = await worker.query<{ jobs: string }>(
    `select r.jobs from sluice.queue q, sluice.claim_jobs(1, gen_random_uuid(),
       array['plain'], array[q.id], array[q.id], '{1}', '{0}', 10, 10, 1,
       null, 0) r
     where q.name = 'default'`,
  )

  const claimed = JSON.parse(rows[0]?.jobs ?? '[]') as [id: number][]
  expect(claimed.map(([id]) => id)).toEqual([known.id])
})

test('a person who cancels a new job while a worker claims it asks that worker to stop', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain], {}, patient)
  const { id } = await client.jobs.enqueue(plain)
  await using worker = await openClient(db.workerUrl)
  await worker.query('begin')
  await worker.query(claimIn)

  const cancelled = client.jobs.cancel(id)
  await overOrWaiting(db, cancelled)
  await worker.query('commit')
  await cancelled

  expect(await db.value('select count(*)::int from sluice.job_dead')).toBe(0)
  expect(await db.query('select job_id::int as id from sluice.job_cancel')).toEqual([{ id }])
  expect(await client.jobs.get(id)).toMatchObject({ state: 'running' })
})

test.each(names)('a person cannot end a job that was %s and is claimed', async (place) => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [plain])
  await using store = await openStore(db)
  const { id } = await client.jobs.enqueue(plain)
  await put(db, id, place)
  await claimByHand(db.workerUrl, 1)

  const [ended] = await endWaiting(store.control, { ids: [id], outcome: 'cancelled', reason: 'enough' })

  expect(ended?.touched ?? []).toEqual([])
  expect(await client.jobs.get(id)).toMatchObject({ state: 'running' })
})
