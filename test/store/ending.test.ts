import { expect, test } from 'vitest'
import { defineOperation, sql, type OperationDefinition } from '../../src/index.ts'
import { beginVerifying, cancel, finishDone, settleCancelling, settlePausing } from '../../src/store/lifecycle.ts'
import { activate } from '../../src/store/picking.ts'
import { onClient, type TestDatabase } from '../support/database.ts'
import { openClient } from '../support/jobs.ts'
import { counters, working } from '../support/working.ts'
import { overOrWaiting } from '../support/locks.ts'

const shape = { name: 'count', table: 'counters', perform: async () => 0 } as const
const count = defineOperation(shape)
const verified = defineOperation({ ...shape, verify: true, scope: () => sql`not done` })
const names = ['count']

async function start(db: TestDatabase, definition: OperationDefinition<undefined>): Promise<string> {
  const { sluice } = working(db, [definition])
  await using _ = sluice
  return (await sluice.operations.start(definition)).id
}

const addBatch = (db: TestDatabase, id: string): Promise<object[]> =>
  db.query(
    `insert into sluice.batch (id, operation_id, seq, upper_key, state, nonce, worker_id, lease_until, sub_batch_size)
     values (gen_random_uuid(), $1, 1, '{100}', 'running', gen_random_uuid(), gen_random_uuid(), now() + interval '1 hour', 10)`,
    [id],
  )

/** All batches of the first pass are done. */
const walked = `update sluice.operation set status = 'active', fully_carved = true, carved_to = '{100}'`

test('an operation with a second pass finishes only after it', async () => {
  await using db = await counters(100)
  await using client = await openClient(db.workerUrl)
  const by = onClient(client)
  await start(db, verified)
  await db.query(walked)
  expect.soft(await finishDone(by, { names }), 'before it has begun').toEqual([])
  expect(await beginVerifying(by, { names })).toHaveLength(1)
  expect(await beginVerifying(by, { names })).toEqual([])
  expect(await db.query('select status, pass, carved_to, fully_carved from sluice.operation')).toEqual([
    { status: 'verifying', pass: 2, carved_to: null, fully_carved: false },
  ])
  expect(await finishDone(by, { names }), 'before it is carved').toEqual([])
  await db.query('update sluice.operation set fully_carved = true')
  expect(await finishDone(by, { names })).toMatchObject([{ status: 'finished' }])
})

test('a second pass begins only when the first is carved to its end and has no batch left', async () => {
  await using db = await counters(100)
  await using client = await openClient(db.workerUrl)
  const by = onClient(client)
  const id = await start(db, verified)
  await db.query(walked)
  await addBatch(db, id)
  expect.soft(await beginVerifying(by, { names }), 'a batch is left').toEqual([])
  await db.query('delete from sluice.batch')
  await db.query(`update sluice.operation set fully_carved = false, pass = 1, status = 'active', carved_to = '{100}'`)
  expect.soft(await beginVerifying(by, { names }), 'it is not carved to its end').toEqual([])
})

test('an operation is neither finished, paused nor cancelled while one of its batches runs', async () => {
  await using db = await counters(100)
  await using client = await openClient(db.workerUrl)
  const by = onClient(client)
  const id = await start(db, count)
  await db.query(walked)
  await addBatch(db, id)
  expect.soft(await finishDone(by, { names }), 'finished').toEqual([])
  await db.query(`update sluice.operation set status = 'pausing'`)
  expect.soft(await settlePausing(by), 'paused').toEqual([])
  await db.query(`update sluice.operation set status = 'cancelling'`)
  expect.soft(await settleCancelling(by), 'cancelled').toEqual([])
  expect(await db.value('select count(*)::int from sluice.batch')).toBe(1)
})

test('the statement that ends an operation frees its key and its table', async () => {
  await using db = await counters(100)
  await using client = await openClient(db.workerUrl)
  const by = onClient(client)
  const id = await start(db, count)
  await activate(by, { id })
  await client.query('begin')
  expect(await cancel(by, { id, from: ['active'], reason: null, actor: null })).toEqual([{ status: 'cancelled' }])
  const { sluice } = working(db, [count])
  await using _ = sluice
  const again = await sluice.operations.start(count, undefined, { tx: client })
  expect(again).toMatchObject({ duplicate: false })
  expect(await activate(by, { id: again.id })).toHaveLength(1)
  await client.query('commit')
  expect(await db.query('select id, status from sluice.operation')).toEqual([{ id: again.id, status: 'active' }])
  expect(await db.query('select id, status from sluice.operation_history')).toEqual([{ id, status: 'cancelled' }])
})

test('two equal operations that start at the same moment become one', async () => {
  await using db = await counters(100)
  await using client = await openClient(db.workerUrl)
  const { sluice } = working(db, [count], { timeouts: { statement: '60s', lock: '60s', idleInTransaction: '60s' } })
  await using _ = sluice
  await client.query('begin')
  const first = await sluice.operations.start(count, undefined, { tx: client })
  const late = sluice.operations.start(count)
  const came = await overOrWaiting(db, late)
  await client.query('commit')
  expect(await late).toEqual({ ...first, duplicate: true })
  expect(await db.value('select count(*)::int from sluice.operation')).toBe(1)
  expect(came).toBe('waiting')
})

test('two operations cannot get the same table at the same moment', async () => {
  await using db = await counters(100)
  await using one = await openClient(db.workerUrl)
  await using other = await openClient(db.workerUrl)
  const ids = [await start(db, count), await start(db, defineOperation({ ...shape, name: 'other' }))]
  const [first = '', second = ''] = ids
  await one.query('begin')
  expect(await activate(onClient(one), { id: first })).toHaveLength(1)
  const late = activate(onClient(other), { id: second }).catch((error: unknown) => error)
  await overOrWaiting(db, late)
  await one.query('commit')
  expect(await late).toMatchObject({ code: '23505' })
  expect(await db.query('select id, status from sluice.operation order by created_at')).toEqual([
    { id: first, status: 'active' },
    { id: second, status: 'queued' },
  ])
})
