import { expect, test } from 'vitest'
import { defineOperation, Sluice, sql } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { EventLog } from '../support/events.ts'
import { until } from '../support/wait.ts'
import { testProfile } from '../support/worker.ts'

const count = defineOperation({
  name: 'count',
  table: 'counters',
  conflicts: 'none',
  batchSize: 500,
  subBatchSize: 50,
  async perform({ batch }) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    return batch.update(sql`n = n + 1`)
  },
})

async function counters(): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query('create table counters (id bigint primary key, n int not null default 0)')
  await db.query('insert into counters (id) select generate_series(1, 3000)')
  return db
}

test("a tenant's operations stop here at once and go on there at the same place; the others stay", async () => {
  await using here = await counters()
  await using there = await counters()
  const events = new EventLog()
  await using source = new Sluice({ ...testProfile, database: here.workerUrl, operations: [count] })
  source.onAny((event) => events.push(event))
  await source.start()
  const { id } = await source.operations.start(count, undefined, { tenant: 'acme' })
  await source.operations.start(count, undefined, { tenant: 'other' })
  await events.event('sub-batch.committed', { nth: 8 })

  const moved = JSON.parse(JSON.stringify(await source.tenants.export('acme', { actor: 'ada' }))) as unknown
  const done = await here.value<number>(`select rows_changed::int from sluice.operation_history where tenant = 'acme'`)
  expect(await source.operations.get(id)).toMatchObject({ state: 'cancelled' })
  expect(await here.query(`select tenant from sluice.operation`)).toEqual([{ tenant: 'other' }])
  expect(await source.tenants.export('acme')).toMatchObject({ operations: [] })

  await using target = new Sluice({ ...testProfile, database: there.workerUrl, operations: [count] })
  expect(await target.tenants.import(moved)).toEqual({ imported: [id], present: [] })
  expect(await target.tenants.import(moved)).toEqual({ imported: [], present: [id] })
  await target.start()
  expect(await target.operations.wait(id, { everyMs: 50 })).toMatchObject({ state: 'finished', rowsChanged: 3_000 })
  // Here the rows from the first key on were done, there all that came after them.
  expect(await there.value('select count(*)::int from counters where n = 1')).toBe(3_000 - done)
  await until(
    'the other tenant is finished',
    async () => (await here.value('select count(*)::int from sluice.operation')) === 0,
  )
  expect(await here.value('select count(*)::int from counters where n = 2')).toBe(done)
})

/** An export with one operation, in which something is not as it was written. */
function damaged(change: object): unknown {
  const id = '0199f6a0-0000-7000-8000-000000000000'
  return {
    version: 1,
    tenant: 'acme',
    operations: [{ operation: { tenant: 'acme', id }, batches: [], quarantine: [], ...change }],
  }
}

const notThat = 'it is not what an export gives'
const notWhole = 'an operation in it is damaged or of another tenant'

test.each([
  ['nothing', null, notThat],
  ['text', 'acme', notThat],
  ['another version', { version: 2, tenant: 'acme', operations: [] }, 'its version is 2'],
  ['no operations', { version: 1, tenant: 'acme' }, notThat],
  [
    'another tenant',
    { version: 1, tenant: 'acme', operations: [{ operation: { tenant: 'b' }, batches: [], quarantine: [] }] },
    notWhole,
  ],
  ['no object for an operation', { version: 1, tenant: 'acme', operations: [null] }, notWhole],
  ['an operation that is nothing', damaged({ operation: null }), notWhole],
  ['a batch that is nothing', damaged({ batches: [null] }), notWhole],
  ['a batch of another operation', damaged({ batches: [{ operation_id: 'b' }] }), notWhole],
  ['an operation without most of it', damaged({}), 'an operation in it is damaged: null value in column'],
  [
    'an operation with another id than can be',
    damaged({ operation: { tenant: 'acme', id: 'x' } }),
    'invalid input syntax',
  ],
])('%s is not taken in, and the reason is told', async (_, moved, reason) => {
  await using db = await testDatabase()
  await using sluice = new Sluice({ database: db.workerUrl })
  await expect(sluice.tenants.import(moved)).rejects.toMatchObject({
    code: 'ARGS_INVALID',
    message: expect.stringMatching(
      new RegExp(`cannot be moved: .*${reason}.*Give what "sluice tenants export" wrote, unchanged\\.$`),
    ),
  })
  expect(await db.value('select count(*)::int from sluice.operation')).toBe(0)
})
