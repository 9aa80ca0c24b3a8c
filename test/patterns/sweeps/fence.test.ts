import { randomUUID } from 'node:crypto'
import { onClient } from '../../support/database.ts'
import { expect, test } from 'vitest'
import * as claims from '../../../src/store/sweep-claims.ts'
import { claimDue, claimOffered } from '../../../src/patterns/sweeps/claim.ts'
import { fresh } from '../../../src/patterns/sweeps/breaker.ts'
import { finalise } from '../../../src/patterns/sweeps/finalise.ts'
import { BatchRun } from '../../../src/patterns/sweeps/run.ts'
import { openClient } from '../../support/jobs.ts'
import { isWaiting } from '../../support/locks.ts'
import { until } from '../../support/wait.ts'
import { byHand } from './by-hand.ts'
import { expirePastes, pastes, type Paste } from './pastes.ts'

/** Claims in our own table, where nothing but the claim keeps a stale worker out. */
const sweep = expirePastes({
  claim: 'table',
  releases: { table: 'contents', key: 'id', count: 'ref_count', by: 'content_id' },
  version: (row: Paste) => row.claimed_by,
})

/** All that a worker could change. */
const state = `select ref_count, (select count(*)::int from pastes where short_code = 'p1') as rows,
  (select count(*)::int from sluice.sweep_claim) as claims from contents`
const untouched = { ref_count: 2, rows: 1, claims: 1 }

test.each([
  ['has another nonce', 'nonce = gen_random_uuid()'],
  ['is that of another worker', 'worker_id = gen_random_uuid()'],
  ['was released', 'worker_id = null'],
])('a row whose claim %s is not finalized, and its reference is kept', async (_, change) => {
  await using db = await pastes(1)
  await using at = await byHand(db, sweep)
  const { owner, rows } = await claimDue(at, 1)
  await db.query(`update sluice.sweep_claim set ${change}`)
  expect(await finalise(at, owner, rows)).toEqual([])
  expect(at.events.payloads('sweep.lost')).toMatchObject([{ count: 1 }])
  expect(await db.query(state)).toEqual([untouched])
})

test('a row that is isolated at the moment when it is finalized stays', async () => {
  await using db = await pastes(1)
  await using at = await byHand(db, sweep)
  const { owner, rows } = await claimDue(at, 1)
  await using other = await openClient(db.workerUrl)
  await other.query('begin')
  const error = { name: 'WorkerDied', message: 'silent' }
  const isolated = { sweep: sweep.name, key: ['p1'], nonce: owner.nonce, error, died: true }
  expect(await claims.quarantineClaim(onClient(other), isolated)).toHaveLength(1)
  const finalised = finalise(at, owner, rows)
  await until('it waits', () => isWaiting(db))
  await other.query('commit')
  expect(await finalised).toEqual([])
  expect(at.events.payloads('sweep.lost')).toMatchObject([{ count: 1 }])
  expect(await db.query(state)).toEqual([untouched])
})

test.each([
  ['is not due any more', `expires_at = now() + interval '1 day'`],
  ['was made anew', `claimed_by = 'v2'`],
])('a row that %s is spared when it is finalized', async (_, change) => {
  await using db = await pastes(1)
  await using at = await byHand(db, sweep)
  const { owner, rows } = await claimDue(at, 1)
  await db.query(`update pastes set ${change} where short_code = 'p1'`)
  expect(await finalise(at, owner, rows)).toEqual([])
  expect(at.events.payloads('sweep.spared')).toMatchObject([{ count: 1 }])
  expect(await db.query(state)).toEqual([{ ...untouched, claims: 0 }])
})

test('a reference count never goes below zero', async () => {
  await using db = await pastes(1)
  await db.query('update contents set ref_count = 0')
  await using at = await byHand(db, sweep)
  const { owner, rows } = await claimDue(at, 1)
  expect(await finalise(at, owner, rows)).toMatchObject([{ error: { name: 'CountTooLow' } }])
  expect(await db.query(state)).toEqual([{ ...untouched, ref_count: 0 }])
})

test('a row that is finalized twice releases its reference once', async () => {
  await using db = await pastes(1)
  const marked = expirePastes({
    claim: 'table',
    releases: { table: 'contents', key: 'id', count: 'ref_count', by: 'content_id' },
    finalise: { set: { expires_at: new Date('2099-01-01') } },
  })
  await using at = await byHand(db, marked)
  const { owner, rows } = await claimDue(at, 1)
  await finalise(at, owner, rows)
  await finalise(at, owner, rows)
  expect(await db.query(state)).toEqual([{ ref_count: 1, rows: 1, claims: 0 }])
})

test('a row that another worker claims at the same moment is left to that worker', async () => {
  await using db = await pastes(1)
  await using at = await byHand(db, sweep)
  await using other = await openClient(db.workerUrl)
  await other.query('begin')
  // It had the lock of the row until now, and commits after we have looked for due rows.
  const row = { key: ['p1'], generation: randomUUID(), version: null }
  const owner = { sweep: sweep.name, workerId: randomUUID(), nonce: randomUUID() }
  await claims.insertClaims(onClient(other), { ...owner, rows: [row] })
  const claimed = claimDue(at, 1)
  await until('it waits', () => isWaiting(db))
  await other.query('commit')
  expect(await claimed).toMatchObject({ rows: [], seen: true })
  expect(await db.value('select worker_id from sluice.sweep_claim')).toBe(owner.workerId)
})

test('a row of a dead worker is taken over with its idempotency key and version, under a new nonce', async () => {
  await using db = await pastes(1)
  await db.query(`update pastes set claimed_by = 'v1'`)
  await using at = await byHand(db, sweep)
  const first = await claimDue(at, 1)
  await db.query(`update sluice.sweep_claim set worker_id = gen_random_uuid(), claimed_at = now() - interval '1 hour'`)
  const second = await claimOffered(at, { limit: 1, outage: false })
  expect(at.events.payloads('sweep.rescued')).toMatchObject([{ count: 1 }])
  const { generation, version } = first.rows[0] ?? {}
  expect(second.rows).toMatchObject([{ generation, version: 'v1' }])
  expect(version).toBe('v1')
  expect(second.owner.nonce).not.toBe(first.owner.nonce)
})

test('an effect does not begin for a row that is not ours any more', async () => {
  await using db = await pastes(2)
  const seen: string[] = []
  const watched = expirePastes({ claim: 'table', effect: ({ row }) => void seen.push(row.short_code) })
  await using at = await byHand(db, watched, { leaseMs: 0 })
  const batch = await claimDue(at, 2)
  await db.query(`update sluice.sweep_claim set nonce = gen_random_uuid(), worker_id = gen_random_uuid()
    where key = '{p1}'`)
  await new BatchRun(at, batch, fresh).run()
  expect(seen).toEqual(['p2'])
  expect(at.events.payloads('sweep.lost')).toMatchObject([{ count: 1 }])
})
