import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { defineJob, defineMachine, type Sluice, type SluiceConfig } from '../../../src/index.ts'
import type { TestDatabase } from '../../support/database.ts'

/** Rows that are to come to their end, whatever happens to the queue. */
export interface Story {
  table: string
  /** How many of them the full form has. */
  rows: number
  schema: string
  /** Module text of the workers, which makes `jobs` and `patterns`. */
  jobs: string
  patterns: string
  /** What the application knows of it: names and keys, to enqueue by. */
  config: SluiceConfig
  /** What the application does when a row is new. */
  begin(sluice: Sluice, ids: readonly number[]): Promise<unknown>
  ended: string
  /** Counts what is wrong, once all have ended. */
  wrong(db: TestDatabase, rows: number): Promise<Record<string, number>>
}

const idArgs = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value: value as { id: number } }) },
} as const

const finish = defineJob({ name: 'finish', args: idArgs, unique: {}, perform: () => undefined })

/** Records with a state, a job for each, and a reconciler. */
export const records: Story = {
  table: 'records',
  rows: 20_000,
  schema: `
    create table records (id int primary key, state text not null default 'pending', done int not null default 0,
      changed_at timestamptz not null default clock_timestamp());
    create index records_pending_idx on records (id) where state = 'pending'`,
  jobs: `
const args = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }
const finish = defineJob({
  name: 'finish', args, unique: {}, transaction: true,
  lock: { table: 'records', key: ({ id }) => id },
  guard: ({ row }) => row.state === 'pending',
  async perform({ args, tx }) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    await tx.query("update records set state = 'done', done = done + 1 where id = $1", [args.id])
  },
})
const jobs = [finish]`,
  patterns: `
const patterns = { reconcilers: [defineReconciler({
  name: 'pending-records', job: finish, args: (row) => ({ id: row.id }), every: '500ms', jitter: '300ms',
  find: { table: 'records', where: sql\`state = 'pending'\`, olderThan: '500ms', by: 'changed_at' } })] }`,
  config: { jobs: [finish] },
  begin: (sluice, ids) =>
    sluice.jobs.enqueueMany(
      finish,
      ids.map((id) => ({ id })),
    ),
  ended: `select count(*)::int from records where state = 'done'`,
  wrong: async (db, rows) => ({
    missing: rows - (await db.value<number>(`select count(*)::int from records where state = 'done'`)),
    notDoneOnce: await db.value('select count(*)::int from records where done <> 1'),
  }),
}

const pgUrl = pathToFileURL(createRequire(import.meta.url).resolve('pg')).href

const perform = async (): Promise<void> => undefined
const orders = defineMachine({
  name: 'orders',
  table: 'orders',
  states: {
    pending: { to: 'validated', perform },
    validated: { to: 'uploaded', perform },
    uploaded: { to: 'done', perform },
    done: {},
  },
})

/** Rows of a machine: one step in the transaction, one with an effect outside, one that polls. */
export const machines: Story = {
  table: 'orders',
  // Each takes four jobs, and a worker that is killed costs its lease.
  rows: 3_000,
  schema: `
    create table orders (id int primary key, state text not null default 'pending',
      state_changed_at timestamptz not null default clock_timestamp());
    create index orders_open_idx on orders (id) where state <> 'done';
    create table moves (id int not null, was text not null, now text not null);
    create table effects (id int not null, state text not null, key text not null);
    create function log_move() returns trigger language plpgsql security definer as $$
    begin insert into moves values (new.id, old.state, new.state); return new; end $$;
    create trigger log_move after update of state on orders for each row execute function log_move()`,
  jobs: `import pg from '${pgUrl}'
const jobs = []
const outside = new pg.Pool({ connectionString: process.env.SLUICE_DATABASE_URL, max: 2 })
outside.on('error', () => undefined)
const effect = (key, state, idempotencyKey) =>
  outside.query('insert into effects values ($1, $2, $3)', [key, state, idempotencyKey])`,
  patterns: `
const polls = new Map()
const patterns = { machines: [defineMachine({
  name: 'orders', table: 'orders', stuckAfter: '1s', states: {
    pending: { to: 'validated', transaction: true, perform: async () => undefined },
    validated: { to: 'uploaded', timeout: '10s', async perform({ key, idempotencyKey }) {
      await effect(key, 'validated', idempotencyKey)
    } },
    uploaded: { to: 'done', delay: '50ms', async perform({ key, idempotencyKey }) {
      await effect(key, 'uploaded', idempotencyKey)
      polls.set(key, (polls.get(key) ?? 0) + 1)
      return polls.get(key) === 1 ? again() : 'done'
    } },
    done: {},
  } })] }`,
  config: { machines: [orders] },
  async begin(sluice, ids) {
    await Promise.all(ids.map(async (id) => sluice.machines.start(orders, id)))
  },
  ended: `select count(*)::int from orders where state = 'done'`,
  wrong: async (db, rows) => ({
    missing: rows - (await db.value<number>(`select count(*)::int from orders where state = 'done'`)),
    movedTwice: await db.value(`select count(*)::int from (select from moves group by id, was having count(*) > 1) m`),
    movesMissing: 3 * rows - (await db.value<number>('select count(*)::int from moves')),
    keysChanged: await db.value(
      `select count(*)::int from (select from effects group by id, state having count(distinct key) > 1) e`,
    ),
    effectsMissing:
      2 * rows - (await db.value<number>('select count(*)::int from (select from effects group by id, state) e')),
  }),
}
