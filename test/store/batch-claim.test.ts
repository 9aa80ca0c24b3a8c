import { afterAll, beforeAll, expect, test } from 'vitest'
import { defineOperation } from '../../src/index.ts'
import * as batches from '../../src/store/batches.ts'
import type { StoreConnection } from '../../src/store/connection.ts'
import { fail, hold, trip } from '../../src/store/lifecycle.ts'
import { checkpoint, readClaim } from '../../src/targets/postgres/fence.ts'
import { isolate } from '../../src/targets/postgres/set-aside.ts'
import { onClient, type TestDatabase } from '../support/database.ts'
import { openClient } from '../support/jobs.ts'
import { isWaiting } from '../support/locks.ts'
import { takeFirst } from '../support/taking.ts'
import { until } from '../support/wait.ts'
import { counters } from '../support/working.ts'

const count = defineOperation({ name: 'count', table: 'counters', perform: async () => 0 })
const error = { name: 'RangeError', message: 'a bad row' }
const [stranger, crashed] = ['00000000-0000-4000-8000-000000000000', '00000000-0000-4000-8000-000000000001']

type Transition = (by: StoreConnection, claim: batches.Claim) => Promise<object[]>

const counts = { seen: 10, matched: 10, changed: 10, busyMs: 1, walAt: '0/0' }
const range = { window: { lower: null, upper: ['1'] }, rows: 1, error, fingerprint: 'same' }
const found = <Row extends object>(row: Row | undefined): Row[] => (row === undefined ? [] : [row])

const transitions: Record<string, Transition> = {
  'pass the fence': async (by, claim) => found(await readClaim(by, claim)),
  'move a checkpoint': async (by, claim) =>
    found(await checkpoint(by, claim, { ...counts, to: ['10'], leaseMs: 60_000 })),
  'finish a batch': (by, claim) => batches.finish(by, { ...claim, carveSize: 7, tunedSize: 7 }),
  'release a batch': (by, claim) => batches.release(by, claim),
  'retry a batch': (by, claim) => batches.retry(by, { ...claim, error, waitMs: 0, counts: true }),
  'renew a lease': (by, claim) => batches.renew(by, { claims: [{ ...claim, moving: true }], leaseMs: 600_000 }),
  'hold an operation': (by, claim) => hold(by, { ...claim, reason: 'full disk', waitMs: 60_000 }),
  'trip the breaker of an operation': (by, claim) => trip(by, { ...claim, reason: 'row after row' }),
  'fail an operation': (by, claim) => fail(by, { ...claim, error }),
  'quarantine a row': async (by, claim) => found(await isolate(by, claim, range)),
}

let db: TestDatabase
let claim: batches.Claim

beforeAll(async () => {
  db = await counters(100)
  await using first = await takeFirst(db, count)
  claim = { batchId: first.taken.batch.id, nonce: first.taken.batch.nonce }
  await db.query('update sluice.batch set crashes = 1, crash_nonce = $1', [crashed])
})

afterAll(async () => {
  await db[Symbol.asyncDispose]()
})

const state = (): Promise<object[]> =>
  db.query(
    `select to_jsonb(o) as row from sluice.operation o union all select to_jsonb(b) from sluice.batch b
     union all select to_jsonb(q) from sluice.quarantine q union all select to_jsonb(h) from sluice.batch_history h`,
  )

test.each(Object.entries(transitions))('only the holder of a claim can %s', async (_, transition) => {
  const before = await state()
  await using client = await openClient(db.workerUrl)
  const by = onClient(client)
  expect(await transition(by, { ...claim, nonce: stranger })).toEqual([])
  expect(await state()).toEqual(before)
  await client.query('begin')
  expect(await transition(by, claim)).toHaveLength(1)
  await client.query('rollback')
})

const stopping = ['finish a batch', 'hold an operation', 'trip the breaker of an operation', 'fail an operation']

test.each(stopping)('a claim that changes hands meanwhile cannot %s', async (name) => {
  await using carver = await openClient(db.workerUrl)
  await using holder = await openClient(db.workerUrl)
  await using thief = await openClient(db.workerUrl)
  await thief.query(`set lock_timeout = '5s'`)
  await carver.query('begin')
  await carver.query('select from sluice.operation for update')
  await holder.query('begin')
  const asked = transitions[name]?.(onClient(holder), claim)
  await until('the holder waits for the operation', () => isWaiting(db))
  await thief.query('update sluice.batch set nonce = $1', [stranger])
  await carver.query('rollback')
  expect(await asked).toEqual([])
  await holder.query('rollback')
  await thief.query('update sluice.batch set nonce = $1', [claim.nonce])
})

test.each(stopping)('who has the operation gets its batches while another waits to %s', async (name) => {
  await using owner = await openClient(db.workerUrl)
  await using holder = await openClient(db.workerUrl)
  for (const client of [owner, holder]) await client.query('begin')
  await owner.query('select from sluice.operation for update')
  const asked = transitions[name]?.(onClient(holder), claim)
  await until('the holder waits for the operation', () => isWaiting(db))
  // As tenants.export and the end of an operation do: were the batch locked already, this would be a deadlock.
  expect((await owner.query('select from sluice.batch for update')).rowCount).toBe(1)
  await owner.query('rollback')
  expect(await asked).toHaveLength(1)
  await holder.query('rollback')
})

test('only the claim that was rescued last can take its crash back, and once', async () => {
  await using client = await openClient(db.workerUrl)
  const by = onClient(client)
  await client.query('begin')
  await client.query('update sluice.batch set crashes = 2')
  expect(await batches.survived(by, claim)).toEqual([])
  expect(await batches.survived(by, { ...claim, nonce: crashed })).toEqual([{ crashes: 1 }])
  expect(await batches.survived(by, { ...claim, nonce: crashed })).toEqual([])
  await client.query('rollback')
})

test('history names the claim that finished a batch, and no other', async () => {
  await using client = await openClient(db.workerUrl)
  const by = onClient(client)
  const operationId = await db.value<string>('select operation_id from sluice.batch')
  await client.query('begin')
  await batches.finish(by, { ...claim, carveSize: null, tunedSize: null })
  const asked = { ...claim, operationId, seq: 1 }
  expect(await batches.finishedBy(by, { ...asked, nonce: stranger })).toEqual([])
  expect(await batches.finishedBy(by, { ...asked, batchId: stranger })).toEqual([])
  expect(await batches.finishedBy(by, asked)).toHaveLength(1)
  await client.query('rollback')
})
