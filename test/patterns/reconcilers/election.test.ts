import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { onConnection, type StoreConnection } from '../../../src/store/connection.ts'
import { finish, hold, register, take, takeNow } from '../../../src/store/reconcilers.ts'
import { onClient, asConnection, testDatabase, type TestDatabase } from '../../support/database.ts'
import { openClient } from '../../support/jobs.ts'
import { isWaiting } from '../../support/locks.ts'
import { until } from '../../support/wait.ts'

const name = 'pending'
const everyMs = 3_600_000

/** Asks for the interval that is due, as a worker does. */
const ask = (connection: StoreConnection, nonce: string = randomUUID()): ReturnType<typeof take> =>
  take(connection, { names: [name], everyMs: [everyMs], nonce, workerId: randomUUID() })

async function due(): Promise<{ db: TestDatabase; connection: StoreConnection } & AsyncDisposable> {
  const db = await testDatabase()
  const connection = onConnection(asConnection(db), 'sluice')
  await register(connection, { names: [name] })
  return { db, connection, [Symbol.asyncDispose]: () => db[Symbol.asyncDispose]() }
}

test('an interval of a reconciler is given to one worker', async () => {
  await using at = await due()
  expect(await ask(at.connection)).toEqual([{ name }])
  expect(await ask(at.connection)).toEqual([])
  await at.db.query(`update sluice.reconciler set next_at = next_at - interval '2 hours'`)
  expect(await ask(at.connection)).toEqual([{ name }])
})

test('of two workers that ask for an interval at the same moment one gets it', async () => {
  await using at = await due()
  await using client = await openClient(at.db.workerUrl)
  await client.query('begin')
  expect(await ask(onClient(client))).toEqual([{ name }])
  let answered = false
  const second = ask(at.connection).finally(() => (answered = true))
  await until('the second waits or has its answer', async () => answered || isWaiting(at.db))
  await client.query('commit')
  expect(await second).toEqual([])
})

test.each([
  ['go on', hold],
  ['end the run of the other', finish],
])('a run whose interval has gone to another cannot %s', async (_, step) => {
  await using at = await due()
  const [lost, current] = [randomUUID(), randomUUID()]
  await ask(at.connection, lost)
  await takeNow(at.connection, { name, everyMs, nonce: current })
  const before = await at.db.query('select * from sluice.reconciler')
  const claim = { name, everyMs, found: 7, enqueued: 7, error: null }
  expect(await step(at.connection, { ...claim, nonce: lost })).toEqual([])
  expect(await at.db.query('select * from sluice.reconciler')).toEqual(before)
  expect(await step(at.connection, { ...claim, nonce: current })).toEqual([{ name }])
})
