import { expect, test } from 'vitest'
import { defineOperation, type OperationDefinition } from '../../src/index.ts'
import { uuidv7 } from '../../src/std/uuid.ts'
import type { StoreConnection } from '../../src/store/connection.ts'
import type { OperationRow } from '../../src/store/operations.ts'
import { activate, carve, claim, closeCarving, nextOperation, takeTurn } from '../../src/store/picking.ts'
import { onClient, type TestDatabase } from '../support/database.ts'
import { openClient } from '../support/jobs.ts'
import { counters, working } from '../support/working.ts'
import { overOrWaiting } from '../support/locks.ts'

const shape = { name: 'count', table: 'counters', batchSize: 10, perform: async () => 0 } as const
const twoLanes = defineOperation({ ...shape, lanes: 2 })
const lease = { workerId: uuidv7(), leaseMs: 60_000 }
const ranges = 'select lower_key, upper_key from sluice.batch order by seq'
const running = `select count(*)::int from sluice.batch where state = 'running'`

/** An operation that has its table, as a worker sees it before it takes a batch. */
async function active(
  db: TestDatabase,
  by: StoreConnection,
  definition: OperationDefinition<undefined>,
): Promise<OperationRow> {
  const { sluice } = working(db, [definition])
  await using _ = sluice
  const { id } = await sluice.operations.start(definition)
  await activate(by, { id })
  const [operation] = await nextOperation(by, { names: [definition.name] })
  return operation ?? expect.unreachable()
}

/** The first ten keys, as seen by whoever looks at the operation now. */
const firstTen = (operation: OperationRow): Parameters<typeof carve>[1] => ({
  operation,
  upper: ['10'],
  last: false,
  size: 10,
  batchId: uuidv7(),
  ...lease,
})

/** Batches that wait for a worker, numbered as retried ones are. */
const addReady = (db: TestDatabase, id: string, batches: number): Promise<object[]> =>
  db.query(
    `insert into sluice.batch (id, operation_id, seq, lower_key, upper_key, state, sub_batch_size)
     select gen_random_uuid(), $1, -n, array[(10 * n)::text], array[(10 * n + 10)::text], 'ready', 10
     from generate_series(1, $2::int) n`,
    [id, batches],
  )

test('two workers cannot carve the same range', async () => {
  await using db = await counters(100)
  await using one = await openClient(db.workerUrl)
  await using other = await openClient(db.workerUrl)
  const [first, second] = [onClient(one), onClient(other)]
  const operation = await active(db, first, twoLanes)
  await one.query('begin')
  expect(await carve(first, firstTen(operation))).toHaveLength(1)
  const late = carve(second, firstTen(operation))
  expect(await overOrWaiting(db, late)).toBe('waiting')
  await one.query('commit')
  expect(await late).toEqual([])
  expect(await db.query(ranges)).toEqual([{ lower_key: null, upper_key: ['10'] }])
})

test('carving refuses a stopped operation, another pass, and more batches than lanes', async () => {
  await using db = await counters(100)
  await using client = await openClient(db.workerUrl)
  const by = onClient(client)
  const operation = await active(db, by, defineOperation(shape))
  await db.query(`update sluice.operation set status = 'pausing'`)
  expect.soft(await carve(by, firstTen(operation)), 'stopped').toEqual([])
  await db.query(`update sluice.operation set status = 'active', pass = 2`)
  expect.soft(await carve(by, firstTen(operation)), 'another pass').toEqual([])
  await db.query('update sluice.operation set pass = 1')
  await addReady(db, operation.id, 1)
  expect.soft(await carve(by, firstTen(operation)), 'lanes').toEqual([])
  await db.query('delete from sluice.batch')
  expect(await carve(by, firstTen(operation))).toHaveLength(1)
})

test('a worker cannot close carving after another worker has carved further', async () => {
  await using db = await counters(100)
  await using client = await openClient(db.workerUrl)
  const by = onClient(client)
  const operation = await active(db, by, twoLanes)
  expect(await carve(by, firstTen(operation))).toHaveLength(1)
  expect(await closeCarving(by, { operation })).toEqual([])
  expect(await db.value('select fully_carved from sluice.operation')).toBe(false)
})

test('a running batch cannot be claimed', async () => {
  await using db = await counters(100)
  await using client = await openClient(db.workerUrl)
  const by = onClient(client)
  const { id: operationId } = await active(db, by, twoLanes)
  await addReady(db, operationId, 1)
  expect(await claim(by, { operationId, ...lease })).toHaveLength(1)
  expect(await claim(by, { operationId, ...lease })).toEqual([])
})

test('a worker neither claims nor waits for a batch that another worker is claiming', async () => {
  await using db = await counters(100)
  await using one = await openClient(db.workerUrl)
  await using other = await openClient(db.workerUrl)
  const [first, second] = [onClient(one), onClient(other)]
  const { id: operationId } = await active(db, first, twoLanes)
  await addReady(db, operationId, 1)
  await one.query('begin')
  const [held] = await claim(first, { operationId, ...lease })
  const late = claim(second, { operationId, ...lease })
  const came = await overOrWaiting(db, late)
  await one.query('commit')
  expect(await late).toEqual([])
  expect(await db.value('select nonce from sluice.batch')).toBe(held?.nonce)
  expect(came).toBe('over')
})

test('workers that claim at the same moment stay within the lanes', async () => {
  await using db = await counters(100)
  await using one = await openClient(db.workerUrl)
  await using other = await openClient(db.workerUrl)
  const [first, second] = [onClient(one), onClient(other)]
  const { id: operationId } = await active(db, first, defineOperation(shape))
  await addReady(db, operationId, 2)
  await one.query('begin')
  await takeTurn(first, { operationId })
  expect(await claim(first, { operationId, ...lease })).toHaveLength(1)
  await other.query('begin')
  const late = takeTurn(second, { operationId }).then(() => claim(second, { operationId, ...lease }))
  const came = await overOrWaiting(db, late)
  await one.query('commit')
  expect(await late).toEqual([])
  await other.query('commit')
  expect(await db.value(running)).toBe(1)
  expect(came).toBe('waiting')
})
