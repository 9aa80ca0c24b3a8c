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

test.each([
  ['nothing', null],
  ['text', 'acme'],
  ['another version', { version: 2, tenant: 'acme', operations: [] }],
  ['no operations', { version: 1, tenant: 'acme' }],
  [
    'another tenant',
    { version: 1, tenant: 'acme', operations: [{ operation: { tenant: 'b' }, batches: [], quarantine: [] }] },
  ],
  ['no object for an operation', { version: 1, tenant: 'acme', operations: [null] }],
  ['an operation that is nothing', damaged({ operation: null })],
  ['a batch that is nothing', damaged({ batches: [null] })],
  ['a batch of another operation', damaged({ batches: [{ operation_id: 'b' }] })],
  ['an operation without most of it', damaged({})],
  ['an operation with another id than can be', damaged({ operation: { tenant: 'acme', id: 'x' } })],
])('%s is not taken in, and the reason is told', async (_, moved) => {
  await using db = await testDatabase()
  await using sluice = new Sluice({ database: db.workerUrl })
  await expect(sluice.tenants.import(moved)).rejects.toMatchObject({
    code: 'ARGS_INVALID',
    message: expect.stringMatching(/cannot be moved: .*Give what "sluice tenants export" wrote, unchanged\.$/),
  })
  expect(await db.value('select count(*)::int from sluice.operation')).toBe(0)
})
