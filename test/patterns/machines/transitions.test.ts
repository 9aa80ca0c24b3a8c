import { expect, test } from 'vitest'
import { defineMachine, Sluice, type MachineDefinition } from '../../../src/index.ts'
import { moveState } from '../../../src/targets/postgres/state.ts'
import { testJobs } from '../../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { openClient } from '../../support/jobs.ts'
import { isWaiting } from '../../support/locks.ts'
import { setOddly } from '../../support/odd-settings.ts'
import { until } from '../../support/wait.ts'

async function orders(): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(`create table orders (id bigint primary key, state text not null,
      state_changed_at timestamptz not null default now());
    insert into orders values (1, 'new')`)
  return db
}

/** The transaction that wrote the only row of a table last. */
const xminOf = (db: TestDatabase, table: string): Promise<string> => db.value(`select xmin::text from ${table}`)

test('a row that another transaction moves at the same moment stays where that one put it', async () => {
  await using db = await orders()
  await using one = await openClient(db.workerUrl)
  await using other = await openClient(db.workerUrl)
  const place = { table: 'orders', key: 'id', state: 'state', changedAt: 'state_changed_at' }
  await one.query('begin')
  expect(await moveState(one, place, { key: '1', from: 'new', to: 'lost' })).toBe('moved')
  const moved = moveState(other, place, { key: '1', from: 'new', to: 'paid' })
  await until('it waits', () => isWaiting(db))
  await one.query('commit')
  expect(await moved).toBe('elsewhere')
  expect(await db.value('select state from orders')).toBe('lost')
})

/** An order that is paid for and packed; `work` is what happens to a new one. */
const machineOf = (work: () => Promise<void>, transaction: boolean): MachineDefinition =>
  defineMachine({
    name: 'orders',
    table: 'orders',
    states: {
      new: { to: 'paid', ...(transaction ? { transaction } : {}), perform: work },
      paid: { to: 'packed', perform: async () => undefined },
      packed: {},
    },
  })

test.each([
  ['inside', true],
  ['outside', false],
])(
  'a step that works %s of the transaction moves its row, ends, and enqueues the next step in one',
  async (_, inside) => {
    await using db = await orders()
    const machine = machineOf(async () => undefined, inside)
    await using sluice = new Sluice({ database: db.workerUrl, machines: [machine] })
    await sluice.machines.start(machine, 1)
    expect(await testJobs(sluice).drain({ limit: 1 })).toMatchObject([
      { name: 'orders.new', ending: { kind: 'succeeded' } },
    ])
    expect(await db.value('select state from orders')).toBe('paid')
    const moved = await xminOf(db, 'orders')
    expect(await xminOf(db, 'sluice.job')).toBe(moved)
    expect(await xminOf(db, 'sluice.job_history')).toBe(moved)
  },
)

test('a step that has lost its job while it worked does not move the row', async () => {
  await using db = await orders()
  // As if the worker had been asleep: others have taken its claim away.
  const machine = machineOf(async () => void (await db.query('delete from sluice.job_claim')), false)
  await using sluice = new Sluice({ database: db.workerUrl, machines: [machine] })
  await sluice.machines.start(machine, 1)
  expect(await testJobs(sluice).drain({ limit: 1 })).toMatchObject([{ ending: { kind: 'lost' } }])
  expect(await db.value('select state from orders')).toBe('new')
  expect(await testJobs(sluice).enqueued()).toMatchObject([{ name: 'orders.new' }])
})

test.each(['repeatable read', 'serializable'])(
  'rows start and advance where the database says %s, also at the same moment',
  async (isolation) => {
    await using db = await orders()
    await db.query(`insert into orders select i, 'new' from generate_series(2, 20) i`)
    await setOddly(db, 'database', { default_transaction_isolation: `'${isolation}'` })
    const machine = machineOf(async () => undefined, true)
    await using sluice = new Sluice({ database: db.workerUrl, machines: [machine] })
    const keys = Array.from({ length: 20 }, (_, i) => i + 1)
    // Two callers for each row: the second waits for the first, and then finds what that one has done.
    await Promise.all([...keys, ...keys].map((key) => sluice.machines.start(machine, key)))
    const moved = await Promise.all(
      [...keys, ...keys].map((key) => sluice.machines.advance(machine, key, { to: 'paid' })),
    )
    expect(new Set(moved.map(({ state }) => state))).toEqual(new Set(['paid']))
    expect(await db.value(`select count(*)::int from orders where state = 'paid'`)).toBe(20)
    // One job per row and state: the steps of the first state find their rows moved.
    expect(await testJobs(sluice).enqueued()).toHaveLength(40)
  },
)

test.each(['repeatable read', 'serializable'])(
  'a row is inserted, started and advanced in a %s transaction of the caller',
  async (isolation) => {
    await using db = await orders()
    const machine = machineOf(async () => undefined, true)
    await using sluice = new Sluice({ database: db.workerUrl, machines: [machine] })
    await using caller = await openClient(db.workerUrl)
    await caller.query(`begin isolation level ${isolation}`)
    await caller.query(`insert into orders values (2, 'new')`)
    expect(await sluice.machines.start(machine, 2, { tx: caller })).toMatchObject({ key: '2', state: 'new' })
    expect(await sluice.machines.advance(machine, 2, { to: 'paid', tx: caller })).toMatchObject({ state: 'paid' })
    expect(await sluice.machines.advance(machine, 1, { to: 'paid', tx: caller })).toMatchObject({ state: 'paid' })
    await caller.query('commit')
    expect(await db.value(`select count(*)::int from orders where state = 'paid'`)).toBe(2)
    await testJobs(sluice).drain()
    expect(await db.value(`select count(*)::int from orders where state = 'packed'`)).toBe(2)
  },
)
