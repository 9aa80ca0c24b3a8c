import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineOperation, Sluice, sql, type OperationDefinition } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { testProfile } from '../support/worker.ts'

interface Step {
  tenant: string
  run: number
}

interface Ground extends AsyncDisposable {
  db: TestDatabase
  sluice: Sluice
  /** What was worked on, sub-batch by sub-batch. */
  order: Step[]
  definition: OperationDefinition<Step>
}

const args = z.object({ tenant: z.string(), run: z.number() })

/** One table that all operations share; each of their sub-batches notes whose it was. */
async function ground(rows: number): Promise<Ground> {
  const db = await testDatabase()
  await db.query('create table shared (id int primary key, n int not null default 0)')
  await db.query('insert into shared (id) select generate_series(1, $1::int)', [rows])
  const order: Step[] = []
  const definition = defineOperation({
    name: 'touch',
    table: 'shared',
    conflicts: 'none',
    batchSize: 5,
    subBatchSize: 5,
    args,
    async perform({ batch, args: step }) {
      order.push(step)
      return batch.update(sql`n = n + 1`)
    },
  })
  const sluice = new Sluice({ ...testProfile, database: db.workerUrl, operations: [definition] })
  return {
    db,
    sluice,
    order,
    definition,
    async [Symbol.asyncDispose]() {
      await sluice.stop()
      await db[Symbol.asyncDispose]()
    },
  }
}

/** Records many operations at once, as many starts would, by copying one. */
async function startMany({ db, sluice, definition }: Ground, tenant: string | null, count: number): Promise<void> {
  const name = tenant ?? 'system'
  const { id } = await sluice.operations.start(definition, { tenant: name, run: 1 }, tenant === null ? {} : { tenant })
  await db.query(
    `insert into sluice.operation
     select r.* from sluice.operation o, generate_series(2, $2::int) run,
       jsonb_populate_record(null::sluice.operation, to_jsonb(o) || jsonb_build_object('id', gen_random_uuid(),
         'fingerprint', o.fingerprint || run, 'args', o.args || jsonb_build_object('run', run),
         'created_at', o.created_at + run * interval '1 microsecond')) r
     where o.id = $1`,
    [id, count],
  )
}

async function drained({ db, sluice }: Ground): Promise<void> {
  const last = sluice.operations
  for (;;) {
    const [open] = await db.query<{ id: string }>('select id from sluice.operation limit 1')
    if (open === undefined) return
    await last.wait(open.id, { everyMs: 50 })
  }
}

/** At which share of the tenant's own queue the step stands: 0.05 is after a twentieth of it. */
function shareBefore(order: readonly Step[], tenant: string, position: number): number {
  const all = order.filter((step) => step.tenant === tenant).length
  return order.slice(0, position).filter((step) => step.tenant === tenant).length / all
}

test('a tenant with one operation, started last, is served before a twentieth of a long queue, and the system last', async () => {
  await using stage = await ground(5)
  await startMany(stage, 'a', 120)
  await startMany(stage, null, 15)
  // Some of the queue is worked off before the other tenant comes.
  await stage.sluice.start()
  await new Promise<void>((resolve) => {
    const stop = stage.sluice.on('sub-batch.committed', () => {
      if (stage.order.length < 20) return
      stop()
      resolve()
    })
  })
  const came = stage.order.length
  await startMany(stage, 'b', 1)
  await drained(stage)
  const { order } = stage
  const position = order.findIndex(({ tenant }) => tenant === 'b')
  const waited = shareBefore(order, 'a', position) - shareBefore(order, 'a', came)
  expect(
    waited,
    `b was served at position ${position} after it came at ${came}: ${(waited * 100).toFixed(1)} % of a's queue`,
  ).toBeLessThan(0.05)
  const firstOfSystem = order.findIndex(({ tenant }) => tenant === 'system')
  const lastOfTenants = order.findLastIndex(({ tenant }) => tenant !== 'system')
  expect(firstOfSystem, 'the system comes after all tenants').toBeGreaterThan(lastOfTenants)
  expect(order).toHaveLength(136)
})

test('a thousand operations of one tenant do not starve another with one, whichever had more before', async () => {
  await using stage = await ground(5)
  // The one tenant has had much more than the other so far; that was while the other wanted nothing.
  await stage.db.query(`insert into sluice.tenant_share values ('a', 5000), ('b', 1)`)
  await startMany(stage, 'a', 1_000)
  await startMany(stage, 'b', 1)
  await stage.sluice.start()
  await new Promise<void>((resolve) => {
    const stop = stage.sluice.on('sub-batch.committed', () => {
      if (!stage.order.some(({ tenant }) => tenant === 'b')) return
      stop()
      resolve()
    })
  })
  const position = stage.order.findIndex(({ tenant }) => tenant === 'b')
  expect(position / 1_000, `b was served at position ${position}`).toBeLessThan(0.05)
})

test('a tenant that was idle for long does not get the workers for itself when it comes back', async () => {
  await using stage = await ground(5)
  await stage.db.query(`insert into sluice.tenant_share values ('a', 100000), ('b', 1)`)
  await startMany(stage, 'a', 30)
  await startMany(stage, 'b', 30)
  await stage.sluice.start()
  await drained(stage)
  const { order } = stage
  const others = order.slice(0, 30).filter(({ tenant }) => tenant === 'a').length
  expect(others, `of the first 30 steps ${others} were the other tenant's`).toBeGreaterThan(7)
})

test('a system operation that has waited for a quarter of an hour is not passed over any more', async () => {
  await using stage = await ground(5)
  await startMany(stage, 'a', 20)
  await startMany(stage, null, 1)
  await stage.db.query(
    `update sluice.operation set status_since = clock_timestamp() - interval '16 minutes' where tenant is null`,
  )
  await stage.sluice.start()
  await drained(stage)
  const position = stage.order.findIndex(({ tenant }) => tenant === 'system')
  expect(position, `the system was served at position ${position}`).toBeLessThan(5)
})

test('within a tenant, high priority gets more than normal, and normal more than low, which does not starve', async () => {
  await using stage = await ground(200)
  for (const priority of ['low', 'normal', 'high'] as const) {
    const step = { tenant: priority, run: 1 }
    const { id } = await stage.sluice.operations.start(stage.definition, step, { tenant: 'a' })
    await stage.sluice.operations.set(id, { priority })
  }
  await stage.sluice.start()
  await drained(stage)
  const ends = ['high', 'normal', 'low'].map((name) => stage.order.findLastIndex(({ tenant }) => tenant === name))
  expect(ends, 'the order in which they end').toEqual(ends.toSorted((a, b) => a - b))
  const early = stage.order.slice(0, ends[0]).filter(({ tenant }) => tenant === 'low').length
  expect(early, `low had ${early} of its 40 batches before high was through`).toBeGreaterThan(0)
})
