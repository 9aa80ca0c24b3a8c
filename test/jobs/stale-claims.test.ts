import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import type { StoreConnection } from '../../src/store/connection.ts'
import type { JobClaim } from '../../src/jobs/ending.ts'
import { unclaim } from '../../src/store/jobs/claim.ts'
import { watchRunning } from '../../src/store/jobs/rescue.ts'
import { bury, complete, completedBy, held, postpone } from '../../src/store/jobs/settle.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { jobWorker } from '../support/jobs.ts'
import { claimByHand } from './claim-by-hand.ts'
import { openStore } from './store-by-hand.ts'

const workerId = '00000000-0000-0000-0000-000000000001'
const once = defineJob({ name: 'once', unique: {}, perform: () => undefined })

type Ids = Promise<number[]>

/** What a worker does to a job that it holds, and the ids that the database gives back. */
const transitions = {
  complete: async (store: StoreConnection, claim: JobClaim): Ids =>
    (await complete(store, { done: [{ ...claim, waitMs: 0, runMs: 0, member: false, keyed: false }], emptyClaims: [] }))
      .ids,
  postpone: async (store: StoreConnection, claim: JobClaim): Ids => {
    const setback = { ...claim, verdict: 'release', reason: 'r', delayMs: 0, counts: false, runMs: 0 } as const
    return idsOf(await postpone(store, { setbacks: [{ ...setback, error: null, tries: null }], workerId }))
  },
  bury: async (store: StoreConnection, claim: JobClaim): Ids => {
    const burial = { ...claim, outcome: 'dead', reason: 'r', error: null, runMs: 0 } as const
    return idsOf(await bury(store, { burials: [burial], workerId }))
  },
  lock: async (store: StoreConnection, claim: JobClaim): Ids => idsOf(await held(store, { claims: [claim] })),
  watch: async (store: StoreConnection, claim: JobClaim): Ids => idsOf(await watchRunning(store, { claims: [claim] })),
}

const idsOf = (rows: { id: number }[]): number[] => rows.map(({ id }) => id)

/** All that is known of jobs. */
const everything = (db: TestDatabase): Promise<unknown> =>
  db.value(`select jsonb_build_array(
    (select jsonb_agg(j) from sluice.job j), (select jsonb_agg(c) from sluice.job_claim c),
    (select jsonb_agg(h) from sluice.job_history h), (select jsonb_agg(d) from sluice.job_dead d),
    (select jsonb_agg(a) from sluice.job_attempt a), (select jsonb_agg(l) from sluice.job_lock l))`)

const verbs = Object.keys(transitions) as (keyof typeof transitions)[]

test.each(verbs)('a worker whose claim is gone cannot %s a new job on the list of another', async (verb) => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [once])
  await using store = await openStore(db)
  const { id } = await client.jobs.enqueue(once)
  await claimByHand(db.workerUrl, 1)
  // A standby that takes over may not have got the claim.
  await db.query('delete from sluice.job_claim')
  expect((await claimByHand(db.workerUrl, 2)).ids).toEqual([id])
  const before = await everything(db)

  expect(await transitions[verb](store.control, { id, claimId: '1' })).toEqual([])

  expect(await everything(db)).toEqual(before)
  expect(await transitions[verb](store.control, { id, claimId: '2' })).toEqual([id])
})

test('a stale worker is not told that it completed what another worker completed', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [once])
  await using store = await openStore(db)
  const { id } = await client.jobs.enqueue(once)
  await claimByHand(db.workerUrl, 1)
  await unclaim(store.control, { claimIds: ['1'] })
  await claimByHand(db.workerUrl, 2)
  expect(await transitions.complete(store.control, { id, claimId: '2' })).toEqual([id])

  expect(await completedBy(store.control, { claims: [{ id, claimId: '1' }], fromMs: 0 })).toEqual([])

  expect(await completedBy(store.control, { claims: [{ id, claimId: '2' }], fromMs: 0 })).toEqual([
    { id, claimId: '2' },
  ])
})

test('a worker that gives a lost claim back leaves the jobs that others have claimed since', async () => {
  await using db = await testDatabase()
  const plain = defineJob({ name: 'plain', perform: () => undefined })
  await using client = jobWorker(db, [plain])
  await using store = await openStore(db)
  const { id: first } = await client.jobs.enqueue(plain)
  const { id: second } = await client.jobs.enqueue(plain)
  await claimByHand(db.workerUrl, 1)
  await transitions.postpone(store.control, { id: first, claimId: '1' })
  expect((await claimByHand(db.workerUrl, 2)).ids).toEqual([first])

  expect(idsOf(await unclaim(store.control, { claimIds: ['1'] }))).toEqual([second])

  expect(await transitions.lock(store.control, { id: first, claimId: '2' })).toEqual([first])
})
