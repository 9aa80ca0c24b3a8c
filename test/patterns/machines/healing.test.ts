import { expect, test } from 'vitest'
import { defineMachine, Sluice, type MachineDefinition } from '../../../src/index.ts'
import { testJobs } from '../../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { openClient } from '../../support/jobs.ts'

async function orders(): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(`create table orders (id bigint primary key, state text not null, state_changed_at timestamptz);
    insert into orders values (1, 'new', null), (2, 'new', now()), (3, 'packed', null)`)
  return db
}

const machineOf = (work: () => void, transaction = false): MachineDefinition =>
  defineMachine({
    name: 'orders',
    table: 'orders',
    states: {
      new: { to: 'packed', ...(transaction ? { transaction } : {}), perform: async () => work() },
      packed: {},
    },
  })

test('a row of which nobody knows since when it is in its state is found by the reconciler', async () => {
  await using db = await orders()
  await using sluice = new Sluice({ database: db.workerUrl, machines: [machineOf(() => undefined)] })
  expect(await sluice.reconcilers.run('orders.stuck')).toMatchObject({ found: 1, enqueued: 1 })
  const { jobs } = await sluice.jobs.list()
  expect(jobs).toMatchObject([{ name: 'orders.new', args: { key: '1' } }])
})

test('a row whose key is a date is found by the reconciler, and by its job', async () => {
  await using db = await testDatabase()
  await db.query(`create table days (day date primary key, state text not null, state_changed_at timestamptz);
    insert into days values ('2026-11-18', 'new', now() - interval '1 hour')`)
  const states = { new: { to: 'counted', perform: async () => undefined }, counted: {} } as const
  const machine = defineMachine({ name: 'days', table: 'days', key: 'day', states })
  await using sluice = new Sluice({ database: db.workerUrl, machines: [machine] })
  expect(await sluice.reconcilers.run('days.stuck')).toMatchObject({ found: 1, enqueued: 1 })
  await testJobs(sluice).clock.travel('1m')
  expect(await testJobs(sluice).drain()).toMatchObject([{ args: { key: '2026-11-18' } }])
  expect(await db.value('select state from days')).toBe('counted')
})

test.each([
  ['after an effect', false],
  ['in a transaction', true],
])(
  'a transition that a trigger cancels %s fails with the reason, and does not pass for done',
  async (_, transaction) => {
    await using db = await orders()
    await db.query(`create function keep() returns trigger language plpgsql as $$ begin return null; end $$;
    create trigger keep before update on orders for each row execute function keep()`)
    let effects = 0
    const machine = machineOf(() => void effects++, transaction)
    await using sluice = new Sluice({ database: db.workerUrl, machines: [machine] })
    await sluice.machines.start(machine, 1)
    expect(await testJobs(sluice).drain()).toMatchObject([
      { ending: { kind: 'dead', error: { message: expect.stringContaining('cancels the update') } } },
    ])
    expect(effects).toBe(1)
    await expect(sluice.machines.advance(machine, 1, { to: 'packed' })).rejects.toMatchObject({
      code: 'MACHINE_STATE',
      message: expect.stringContaining('cancels the update'),
    })
  },
)

test("a key that cannot be one leaves the caller's transaction alive", async () => {
  await using db = await orders()
  const machine = machineOf(() => undefined)
  await using sluice = new Sluice({ database: db.workerUrl, machines: [machine] })
  await using tx = await openClient(db.workerUrl)
  await tx.query('begin')
  await tx.query(`insert into orders values (4, 'new', now())`)
  const calls = [
    () => sluice.machines.start(machine, 'four', { tx }),
    () => sluice.machines.advance(machine, '9'.repeat(40), { to: 'packed', tx }),
  ]
  for (const call of calls) await expect(call()).rejects.toMatchObject({ code: 'MACHINE_ROW_NOT_FOUND' })
  expect(await sluice.machines.start(machine, 4, { tx })).toMatchObject({ key: '4', state: 'new' })
  await tx.query('commit')
  expect(await db.value('select count(*)::int from orders')).toBe(4)
})
