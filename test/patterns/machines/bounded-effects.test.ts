/** A row that stays in its state although its work is done does not have that work done again and again. */
import { expect, test } from 'vitest'
import { defineMachine, Sluice, type MachineDefinition, type StepContext } from '../../../src/index.ts'
import { testJobs } from '../../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { until } from '../../support/wait.ts'

async function orders(): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(`create table orders (id bigint primary key, state text not null, state_changed_at timestamptz);
    create table audits (n int not null);
    insert into orders values (1, 'new', now() - interval '1 hour');
    insert into audits values (0);
    grant select, update on audits to public`)
  return db
}

const machineOf = (perform: (context: StepContext) => Promise<'packed' | void>): MachineDefinition =>
  defineMachine({
    name: 'orders',
    table: 'orders',
    stuckAfter: '1s',
    states: { new: { to: 'packed', perform }, packed: {} },
  })

const trigger = (when: 'before' | 'after', body: string): string => `
  create function keep() returns trigger language plpgsql as $$ begin ${body} end $$;
  create trigger keep ${when} update on orders for each row when (new.state <> old.state) execute function keep()`
const putBack = `update orders set state = 'new' where id = new.id; return null;`
const rule = (instead: string): string => `create rule keep as on update to orders do instead ${instead}`

const obstacles: [string, string, string][] = [
  ['a trigger that cancels the update', trigger('before', 'return null;'), 'drop trigger keep on orders'],
  [
    'a trigger that keeps the old state',
    trigger('before', 'new.state = old.state; return new;'),
    'drop trigger keep on orders',
  ],
  ['a trigger that puts the old state back', trigger('after', putBack), 'drop trigger keep on orders'],
  ['a rule that swallows the update', rule('nothing'), 'drop rule keep on orders'],
  ['a rule that updates another table', rule('update audits set n = n + 1'), 'drop rule keep on orders'],
]

test.each(obstacles)('%s lets a step have its effect once, until a person retries it', async (_, obstacle, remedy) => {
  await using db = await orders()
  await db.query(obstacle)
  const keys: string[] = []
  const machine = machineOf(async ({ idempotencyKey }) => void keys.push(idempotencyKey))
  await using sluice = new Sluice({ database: db.workerUrl, machines: [machine] })
  const jobs = testJobs(sluice)
  await sluice.machines.start(machine, 1)
  const error = { code: 'MACHINE_STATE', message: expect.stringContaining('cancels the update') }
  const [attempt] = await jobs.drain()
  expect(attempt).toMatchObject({ ending: { kind: 'dead', error } })
  for (let interval = 0; interval < 3; interval++) {
    expect(await sluice.reconcilers.run('orders.stuck')).toMatchObject({ found: 1, enqueued: 0, refused: 1, error })
    await jobs.clock.travel('1m')
    expect(await jobs.drain()).toEqual([])
  }
  expect(keys).toHaveLength(1)
  await db.query(remedy)
  const { jobs: dead } = await sluice.jobs.list({ states: ['dead'] })
  for (const { id } of dead) await sluice.jobs.retry(id)
  expect(await jobs.drain()).toMatchObject([{ ending: { kind: 'succeeded' } }])
  expect(await db.value('select state from orders')).toBe('packed')
  expect(keys).toEqual([keys[0], keys[0]])
})

/** An order whose work asks for a state that does not exist, after its job has died of that. */
async function unmovable(effect: () => void): Promise<{ db: TestDatabase; sluice: Sluice } & AsyncDisposable> {
  const db = await orders()
  const machine = machineOf(async () => {
    effect()
    return 'pakced' as 'packed'
  })
  const sluice = new Sluice({ database: db.workerUrl, machines: [machine] })
  await sluice.machines.start(machine, 1)
  expect(await testJobs(sluice).drain()).toMatchObject([{ ending: { kind: 'dead', error: { code: 'MACHINE_STATE' } } }])
  const dispose = async (): Promise<void> => {
    await sluice.stop()
    await db[Symbol.asyncDispose]()
  }
  return { db, sluice, [Symbol.asyncDispose]: dispose }
}

test('a step that asks for an undeclared state has its effect once, also when a person discards its job', async () => {
  let effects = 0
  await using at = await unmovable(() => void effects++)
  const left = { found: 1, enqueued: 0, refused: 1, error: { code: 'MACHINE_STATE' } }
  expect(await at.sluice.reconcilers.run('orders.stuck')).toMatchObject(left)
  for (const { id } of (await at.sluice.jobs.list({ states: ['dead'] })).jobs) await at.sluice.jobs.discard(id)
  await at.db.query('update orders set state_changed_at = null')
  expect(await at.sluice.reconcilers.run('orders.stuck')).toMatchObject(left)
  expect(effects).toBe(1)
})

test('a row that could not be moved is found again once it has left its state and come back', async () => {
  await using at = await unmovable(() => undefined)
  await at.db.query(`update orders set state = 'packed'`)
  await at.db.query(`update orders set state = 'new', state_changed_at = clock_timestamp()`)
  let last = await at.sluice.reconcilers.run('orders.stuck')
  await until('it is stuck again', async () => {
    last = await at.sluice.reconcilers.run('orders.stuck')
    return last.found > 0
  })
  expect(last).toMatchObject({ enqueued: 1, refused: 0 })
})
