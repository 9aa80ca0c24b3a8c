import { expect, test } from 'vitest'
import { onConnection, type StoreConnection } from '../../../src/store/connection.ts'
import { lockLost, lookAfter, type WaitingMessage } from '../../../src/store/inbox-chores.ts'
import { take, unmark, type MessageRef } from '../../../src/store/inbox.ts'
import { onClient, asConnection, type TestDatabase } from '../../support/database.ts'
import { openClient } from '../../support/jobs.ts'
import { isWaiting } from '../../support/locks.ts'
import { until } from '../../support/wait.ts'
import { ledgerDatabase, place, renewals } from './ground.ts'

const inbox = renewals({ queue: 'held' })
const payload = { id: 'a', cents: 5 }

const patient = { timeouts: { statement: '30s', lock: '20s', idleInTransaction: '60s' } } as const

interface Scene extends AsyncDisposable {
  db: TestDatabase
  connection: StoreConnection
  ref: MessageRef
}

/** A message that waits, and a connection of a worker. */
async function scene(): Promise<Scene> {
  const db = await ledgerDatabase()
  await using at = place(db, [inbox])
  await at.inboxes.receive(inbox, payload)
  const [ref] = await db.query<MessageRef>(`select message_id::int as id, b.name as inbox, key_hash as "keyHash",
    to_char(received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
    from sluice.inbox_key k join sluice.inbox b on b.id = k.inbox_id`)
  if (ref === undefined) throw new Error('there is no message')
  return {
    db,
    connection: onConnection(asConnection(db), 'sluice'),
    ref,
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  }
}

test('of two deliveries of a key in open transactions one is new', async () => {
  await using db = await ledgerDatabase()
  await using at = place(db, [inbox], patient)
  // Inbox and queue are there by then: the second one waits for nothing but the key.
  await at.inboxes.receive(inbox, { id: 'before', cents: 1 })
  await using client = await openClient(db.workerUrl)
  await client.query('begin')
  const first = await at.inboxes.receive(inbox, payload, { tx: client })
  let answered = false
  const second = at.inboxes.receive(inbox, payload).finally(() => (answered = true))
  await until('the second waits or has its answer', async () => answered || isWaiting(db))
  await client.query('commit')
  expect(first.status).toBe('new')
  expect(await second).toEqual({ status: 'duplicate', id: first.id, differs: false })
  expect(await db.value('select count(*)::int from sluice.job')).toBe(2)
})

test('a message is taken once, and a second job that is about to take it waits for the first', async () => {
  await using at = await scene()
  await using first = await openClient(at.db.workerUrl)
  await first.query('begin')
  expect(await take(onClient(first), at.ref)).toMatchObject([{ key: 'a', payload, there: true }])
  const second = take(at.connection, at.ref)
  await until('it waits', () => isWaiting(at.db))
  await first.query('commit')
  expect(await second).toEqual([])
  expect(await take(at.connection, at.ref)).toEqual([])
})

test('a message is taken only under the id that its job was given', async () => {
  await using at = await scene()
  // The key was freed and has come again: that is another message.
  expect(await take(at.connection, { ...at.ref, id: at.ref.id + 1 })).toEqual([])
  expect(await at.db.value('select state from sluice.inbox_key')).toBe(0)
})

const look = { name: 'renewals', after: { at: '-infinity', id: 0 }, ageMs: 0, limit: 10 }

const looked = (at: Scene): Promise<WaitingMessage[]> => lookAfter(at.connection, look)

test('a message whose job is there is not lost, and one whose job is nowhere is', async () => {
  await using at = await scene()
  expect(await looked(at)).toMatchObject([{ alive: true }])
  await at.db.query('delete from sluice.job')
  expect(await looked(at)).toMatchObject([{ alive: false }])
  await take(at.connection, at.ref)
  expect(await looked(at)).toEqual([])
})

/** Its job is there again, as after a retry. */
const retried = (at: Scene): Promise<object[]> =>
  at.db.query(`insert into sluice.job (id, run_at, queue_id, class_id, state, priority, args)
    overriding system value
    select m.job_id, now(), 1, (select min(id) from sluice.job_class), 0, 1, '{}' from sluice.inbox_message m`)

test.each([
  ['has got another job', (at: Scene) => at.db.query('update sluice.inbox_message set job_id = job_id + 1')],
  ['has been processed', (at: Scene) => take(at.connection, at.ref)],
  ['whose job was retried', retried],
  ['has failed', (at: Scene) => unmark(at.connection, { ...at.ref, state: 'failed' })],
])('a message that was lost and %s since gets no new job', async (_, meanwhile) => {
  await using at = await scene()
  await at.db.query('delete from sluice.job')
  const lost = await looked(at)
  expect(await lockLost(at.connection, { inbox: at.ref.inbox, lost })).toHaveLength(1)
  await meanwhile(at)
  expect(await lockLost(at.connection, { inbox: at.ref.inbox, lost })).toEqual([])
})

test('a lost message is left to the worker that gives it a new job at this moment', async () => {
  await using at = await scene()
  await at.db.query('delete from sluice.job')
  const lost = await looked(at)
  await using other = await openClient(at.db.workerUrl)
  await other.query('begin')
  const order = { inbox: at.ref.inbox, lost }
  expect(await lockLost(onClient(other), order)).toHaveLength(1)
  expect(await lockLost(at.connection, order)).toEqual([])
  await other.query('rollback')
})

test('of two calls of once in open transactions one does the work, and the other gets its result', async () => {
  await using db = await ledgerDatabase()
  await using at = place(db, [], patient)
  await using client = await openClient(db.workerUrl)
  await client.query('begin')
  expect(await at.sluice.once('charge', () => 'first', { tx: client })).toBe('first')
  const second = at.sluice.once('charge', () => 'second')
  await until('it waits', () => isWaiting(db))
  await client.query('commit')
  expect(await second).toBe('first')
  expect(await db.query('select key, result from sluice.once_result')).toEqual([
    { key: 'charge', result: { value: 'first' } },
  ])
})
