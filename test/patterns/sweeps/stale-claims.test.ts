import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { onConnection, type StoreConnection } from '../../../src/store/connection.ts'
import * as claims from '../../../src/store/sweep-claims.ts'
import { asConnection, testDatabase, type TestDatabase } from '../../support/database.ts'

let db: TestDatabase
let connection: StoreConnection

beforeAll(async () => {
  db = await testDatabase()
  connection = onConnection(asConnection(db), 'sluice')
})
afterAll(() => db[Symbol.asyncDispose]())

const owner = { sweep: 'expire', workerId: randomUUID(), nonce: randomUUID() }
const stale = { ...owner, nonce: randomUUID() }
const key = ['a']
const row = { key, generation: randomUUID(), version: null, attempts: 0, crashes: 0 }
const error = { name: 'Error', message: 'no' }

type Act = (by: claims.ClaimOwner) => Promise<{ key: string[] }[]>
const acts: Record<string, Act> = {
  'claim a row that is claimed': (by) => claims.insertClaims(connection, { ...by, rows: [row] }),
  'take a row over': (by) =>
    claims.takeOverClaims(connection, { ...by, nonce: randomUUID(), rows: [{ ...row, was: by.nonce }] }),
  'hold a row': (by) => claims.holdingClaims(connection, { ...by, keys: [key] }),
  'end the claim of a row': (by) => claims.forgetClaims(connection, { ...by, rows: [{ key, nonce: by.nonce }] }),
  'fail a row': (by) => claims.failClaims(connection, { ...by, rows: [{ key, error, delayMs: 0, quarantine: false }] }),
  'release a row': (by) => claims.releaseClaims(connection, { ...by, keys: [key] }),
  'isolate a row': (by) => claims.quarantineClaim(connection, { ...by, key, error, died: true }),
}

beforeEach(async () => {
  await db.query('truncate sluice.sweep_claim')
  await claims.insertClaims(connection, { ...owner, rows: [row] })
})

test.each(Object.keys(acts))('a worker with a stale nonce cannot %s', async (name) => {
  const before = await db.query('select * from sluice.sweep_claim')
  expect(await acts[name]?.(stale)).toEqual([])
  expect(await db.query('select * from sluice.sweep_claim')).toEqual(before)
})

test('a worker with the nonce of the claim can', async () => {
  const able = [
    'hold a row',
    'take a row over',
    'fail a row',
    'release a row',
    'isolate a row',
    'end the claim of a row',
  ]
  for (const name of able) {
    await db.query('update sluice.sweep_claim set nonce = $1, worker_id = $2', [owner.nonce, owner.workerId])
    expect(await acts[name]?.(owner), name).toEqual([{ key }])
  }
})
