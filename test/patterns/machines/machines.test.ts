import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  again,
  cancel,
  defineMachine,
  retryOn,
  Sluice,
  type MachineDefinition,
  type StepContext,
} from '../../../src/index.ts'
import { testJobs, type TestJobs } from '../../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { openClient } from '../../support/jobs.ts'

let db: TestDatabase

beforeAll(async () => {
  db = await testDatabase()
  await db.query(`
    create table orders (id bigint primary key, state text not null default 'pending', note text,
      state_changed_at timestamptz not null default now());
    create table moves (id bigint, was text, now text);
    create function log_move() returns trigger language plpgsql security definer as $$
    begin insert into moves values (new.id, old.state, new.state); return new; end $$;
    create trigger log_move after update of state on orders for each row
      when (old.state is distinct from new.state) execute function log_move()`)
})
afterAll(() => db[Symbol.asyncDispose]())
beforeEach(() => db.query('truncate orders, moves, sluice.job, sluice.job_lock, sluice.job_claim'))

/** What each test does in the states of its orders. */
type Work = (context: StepContext) => Promise<'sent' | 'lost' | ReturnType<typeof again> | ReturnType<typeof cancel>>

const orders = (work: Work, more: { delay?: '30m' } = {}): MachineDefinition =>
  defineMachine({
    name: 'orders',
    table: 'orders',
    states: {
      pending: {
        to: 'paid',
        transaction: true,
        perform: async ({ tx, key }) => void (await tx.query(`update orders set note = 'paid' where id = $1`, [key])),
      },
      paid: { to: ['sent', 'lost'], retry: { attempts: 3, wait: '1ms' }, perform: work, ...more },
      sent: {},
      lost: {},
    },
  })

interface Place extends AsyncDisposable {
  sluice: Sluice
  jobs: TestJobs
}

function place(machine: MachineDefinition): Place {
  const timeouts = { statement: '60s', lock: '60s' } as const
  const sluice = new Sluice({ database: db.workerUrl, machines: [machine], timeouts })
  return { sluice, jobs: testJobs(sluice), [Symbol.asyncDispose]: () => sluice.stop() }
}

const insert = (id: number, state = 'pending'): Promise<unknown> =>
  db.query('insert into orders (id, state) values ($1, $2)', [id, state])
const stateOf = (id: number): Promise<string> => db.value('select state from orders where id = $1', [id])
const moves = (): Promise<object[]> => db.query('select * from moves')

test('a row goes from state to state, one job per transition, until it is final', async () => {
  const seen: StepContext[] = []
  const machine = orders(async (context) => {
    seen.push(context)
    return 'sent'
  })
  await using at = place(machine)
  await insert(1)
  expect(await at.sluice.machines.start(machine, 1)).toMatchObject({
    key: '1',
    state: 'pending',
    job: { duplicate: false },
  })
  expect((await at.jobs.drain()).map(({ name, ending }) => [name, ending.kind])).toEqual([
    ['orders.pending', 'succeeded'],
    ['orders.paid', 'succeeded'],
  ])
  expect(await moves()).toEqual([
    { id: '1', was: 'pending', now: 'paid' },
    { id: '1', was: 'paid', now: 'sent' },
  ])
  expect(seen).toMatchObject([{ key: '1', row: { id: '1', state: 'paid', note: 'paid' } }])
  expect(seen[0]?.idempotencyKey).toMatch(/^orders:1:paid:\d+\.\d+$/)
  expect(await at.sluice.machines.start(machine, 1)).toEqual({ key: '1', state: 'sent', job: null })
})

test('a row and its job are there together or not at all', async () => {
  const machine = orders(async () => 'sent')
  await using at = place(machine)
  await using client = await openClient(db.workerUrl)
  for (const end of ['rollback', 'commit']) {
    await client.query('begin')
    await client.query('insert into orders (id) values (1)')
    await at.sluice.machines.start(machine, 1, { tx: client })
    await client.query(end)
    expect(await at.jobs.drain()).toHaveLength(end === 'commit' ? 2 : 0)
  }
})

test('work that is not ready leaves the row where it is, and looks again after the delay', async () => {
  let ready = false
  const machine = orders(async () => (ready ? 'sent' : again()), { delay: '30m' })
  await using at = place(machine)
  await insert(1, 'paid')
  await at.sluice.machines.start(machine, 1)
  expect(await at.jobs.drain()).toEqual([])
  await at.jobs.clock.travel('30m')
  expect(await at.jobs.drain()).toMatchObject([{ ending: { kind: 'snoozed', delayMs: 1_800_000 } }])
  await at.jobs.clock.travel('29m')
  expect(await at.jobs.drain()).toEqual([])
  ready = true
  await at.jobs.clock.travel('1m')
  expect(await at.jobs.drain()).toHaveLength(1)
  expect(await stateOf(1)).toBe('sent')
})

test('again may say when, and any outcome of a job is one of a step', async () => {
  const outcomes = [again({ in: '5m' }), cancel('enough')]
  const machine = orders(async () => outcomes.shift() ?? 'sent')
  await using at = place(machine)
  await insert(1, 'paid')
  await at.sluice.machines.start(machine, 1)
  expect(await at.jobs.drain()).toMatchObject([{ ending: { kind: 'snoozed', delayMs: 300_000 } }])
  await at.jobs.clock.travel('5m')
  expect(await at.jobs.drain()).toMatchObject([{ ending: { kind: 'cancelled', reason: 'enough' } }])
  expect(await stateOf(1)).toBe('paid')
})

test('the idempotency key stays the same over attempts, and is another when the row comes back', async () => {
  const keys: string[] = []
  const machine = defineMachine({
    name: 'loop',
    table: 'orders',
    states: {
      pending: {
        to: 'paid',
        onError: [retryOn(RangeError, { attempts: 3, wait: '1ms' })],
        async perform({ idempotencyKey }) {
          keys.push(idempotencyKey)
          if (keys.length === 1) throw new RangeError('once')
        },
      },
      paid: { to: ['pending', 'sent'], perform: async () => (keys.length < 3 ? 'pending' : 'sent') },
      sent: {},
    },
  })
  await using at = place(machine)
  await insert(1)
  await at.sluice.machines.start(machine, 1)
  for (let i = 0; i < 2; i++) {
    await at.jobs.drain()
    await at.jobs.clock.travel('1s')
  }
  expect(await stateOf(1)).toBe('sent')
  const [first, second, third] = keys
  expect(second).toBe(first)
  expect(third).not.toBe(first)
  expect(keys).toHaveLength(3)
})

describe('a job whose row', () => {
  test('has moved on, before it begins or while it works, leaves', async () => {
    const machine = orders(async ({ key }) => {
      await db.query(`update orders set state = 'lost' where id = $1`, [key])
      return 'sent'
    })
    await using at = place(machine)
    await insert(1)
    await insert(2, 'paid')
    await at.sluice.machines.start(machine, 1)
    await at.sluice.machines.start(machine, 2)
    await db.query(`update orders set state = 'lost' where id = 1`)
    expect((await at.jobs.drain()).map(({ ending }) => ending)).toEqual([
      { kind: 'succeeded', left: 'its row is in the state lost' },
      { kind: 'succeeded', left: 'its row has moved on meanwhile' },
    ])
    expect(await stateOf(2)).toBe('lost')
    expect(await db.value('select count(*)::int from sluice.job')).toBe(0)
  })

  test('is gone leaves', async () => {
    const machine = orders(async () => 'sent')
    await using at = place(machine)
    await insert(1)
    await at.sluice.machines.start(machine, 1)
    await db.query('delete from orders')
    expect(await at.jobs.drain()).toMatchObject([{ ending: { kind: 'succeeded', left: 'its row is not there' } }])
  })
})

test('a transition that is not declared is refused, and kills the job at once', async () => {
  const machine = orders(async () => 'snt' as 'sent')
  await using at = place(machine)
  await insert(1, 'paid')
  await at.sluice.machines.start(machine, 1)
  const [attempt, ...more] = await at.jobs.drain()
  expect(more).toEqual([])
  expect(attempt?.ending).toMatchObject({
    kind: 'dead',
    error: {
      message: expect.stringContaining('cannot go from "paid" to "snt". It may go to sent, lost. Did you mean "sent"?'),
    },
  })
  expect(await moves()).toEqual([])
})

describe('advance', () => {
  test('moves a row as somebody else knows better, and enqueues what comes next', async () => {
    const machine = orders(async () => 'sent')
    await using at = place(machine)
    await insert(1)
    await using client = await openClient(db.workerUrl)
    await client.query('begin')
    const started = await at.sluice.machines.advance(machine, 1, { to: 'paid', tx: client })
    expect(started).toMatchObject({ key: '1', state: 'paid', job: { duplicate: false } })
    await client.query('commit')
    await at.jobs.assertEnqueued(machine.steps.get('paid') as never, { key: '1' } as never)
    expect(await at.sluice.machines.advance(machine, 1n, { to: 'lost' })).toEqual({
      key: '1',
      state: 'lost',
      job: null,
    })
    expect(await at.sluice.machines.advance(machine, '1', { to: 'lost' })).toMatchObject({ state: 'lost' })
    expect(await moves()).toHaveLength(2)
    // What was enqueued for the state that it has left finds nothing to do.
    expect(await at.jobs.drain()).toMatchObject([{ ending: { left: 'its row is in the state lost' } }])
  })

  test('refuses what is not declared, and what is not there', async () => {
    const machine = orders(async () => 'sent')
    await using at = place(machine)
    const { machines } = at.sluice
    await insert(1)
    await insert(2, 'sent')
    await insert(3, 'strange')
    for (const [key, to] of [
      [1, 'sent'],
      [2, 'paid'],
      [3, 'paid'],
    ] as const) {
      await expect(machines.advance(machine, key, { to })).rejects.toMatchObject({ code: 'MACHINE_STATE' })
    }
    for (const key of [99, 'no number']) {
      await expect(machines.start(machine, key)).rejects.toMatchObject({ code: 'MACHINE_ROW_NOT_FOUND' })
    }
    expect(await moves()).toEqual([])
    expect(await at.jobs.enqueued()).toEqual([])
  })

  test('of two at once one moves the row', async () => {
    const machine = orders(async () => 'sent')
    await using at = place(machine)
    await insert(1, 'paid')
    const both = await Promise.allSettled([
      at.sluice.machines.advance(machine, 1, { to: 'sent' }),
      at.sluice.machines.advance(machine, 1, { to: 'lost' }),
    ])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(await moves()).toHaveLength(1)
  })
})

test('a row without a live job is found when it rests for too long, and driven on', async () => {
  const machine = orders(async () => 'sent', { delay: '30m' })
  await using at = place(machine)
  await db.query(`insert into orders (id, state, state_changed_at) values
    (1, 'pending', now() - interval '11 minutes'), (2, 'pending', now() - interval '9 minutes'),
    (3, 'paid', now() - interval '41 minutes'), (4, 'paid', now() - interval '39 minutes'),
    (5, 'sent', now() - interval '2 days')`)
  const { reconcilers } = at.sluice
  expect((await reconcilers.list()).map(({ name }) => name)).toContain('orders.stuck')
  expect(await reconcilers.run('orders.stuck')).toMatchObject({ found: 2, enqueued: 2 })
  expect(await reconcilers.run('orders.stuck')).toMatchObject({ found: 2, enqueued: 0, duplicates: 2 })
  expect(await at.jobs.enqueued()).toHaveLength(2)
  await at.jobs.assertEnqueued(machine.steps.get('pending') as never, { key: '1' } as never)
  await at.jobs.assertEnqueued(machine.steps.get('paid') as never, { key: '3' } as never)
  await at.jobs.clock.travel('1m')
  await at.jobs.drain()
  expect([await stateOf(1), await stateOf(3)]).toEqual(['paid', 'sent'])
})

test('states may be numbers or an enum, and keys of any type', async () => {
  await db.query(`create type mood as enum ('sad', 'in-between', 'glad');
    create table people (name text primary key, mood mood not null, since timestamptz not null default now());
    insert into people values ('Ada "A"', 'sad');
    create table steps (id uuid primary key default gen_random_uuid(), n int not null, since timestamp not null default now());
    insert into steps (n) values (0)`)
  const people = defineMachine({
    name: 'people',
    table: 'people',
    key: 'name',
    state: 'mood',
    changedAt: 'since',
    states: {
      sad: { to: 'in-between', perform: async () => undefined },
      'in-between': { to: 'glad', perform: async () => 'glad' },
      glad: {},
    },
  })
  const steps = defineMachine({
    name: 'steps',
    table: 'steps',
    state: 'n',
    changedAt: 'since',
    states: { 0: { to: '10', perform: async () => undefined }, 10: {} },
  })
  await using sluice = new Sluice({ database: db.workerUrl, machines: [people, steps] })
  const id = await db.value<string>('select id from steps')
  await sluice.machines.start(people, 'Ada "A"')
  await sluice.machines.start(steps, id)
  expect(await testJobs(sluice).drain()).toHaveLength(3)
  expect(await db.value('select mood from people')).toBe('glad')
  expect(await db.value('select n from steps')).toBe(10)
})

const bare = (more: object): MachineDefinition =>
  defineMachine({
    name: 'bare',
    table: 'bare',
    states: { a: { to: 'b', perform: async () => undefined }, b: {} },
    ...more,
  })

test('a table that cannot hold the rows of a machine is refused with what to do', async () => {
  await db.query('create table bare (id int, state text, other text unique)')
  await using sluice = new Sluice({ database: db.workerUrl })
  for (const [more, complaint] of [
    [{}, 'add column "state_changed_at" timestamptz not null default now();'],
    [{ changedAt: 'other' }, '"id" is not unique'],
    [{ changedAt: 'other', key: 'others' }, 'Did you mean "other"?'],
  ] as const) {
    await expect(sluice.machines.start(bare(more), 1)).rejects.toMatchObject({
      code: 'TABLE_INVALID',
      message: expect.stringContaining(complaint),
    })
  }
  await expect(sluice.machines.start(bare({ table: 'bar' }), 1)).rejects.toMatchObject({ code: 'TABLE_NOT_FOUND' })
})
