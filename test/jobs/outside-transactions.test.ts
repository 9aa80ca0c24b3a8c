// What goes to `tx` and is in no transaction would stay when the caller rolls back.
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import {
  defineInbox,
  defineJob,
  defineMachine,
  defineOperation,
  planned,
  Sluice,
  type Connection,
} from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { liveJobs, openClient } from '../support/jobs.ts'

const work = defineJob({ name: 'work', perform: () => undefined })
const tidy = defineOperation({ name: 'tidy', table: 'notes', perform: async () => undefined })
const orders = defineMachine({
  name: 'orders',
  table: 'orders',
  states: {
    pending: { to: 'paid', perform: async () => undefined },
    paid: { to: 'sent', perform: async () => undefined },
    sent: {},
  },
})
const renewals = defineInbox({
  name: 'renewals',
  payload: z.object({ id: z.string() }),
  key: ({ id }) => id,
  perform: () => undefined,
})

let db: TestDatabase
let sluice: Sluice
/** A batch of jobs to be sealed. */
let opened: number

beforeAll(async () => {
  db = await testDatabase()
  await db.query(`create table notes (id int primary key);
    create table orders (id int primary key, state text not null, state_changed_at timestamptz not null default now());
    insert into orders values (1, 'pending')`)
  const known = { jobs: [work], operations: [tidy], machines: [orders], inboxes: [renewals] }
  sluice = new Sluice({ database: db.workerUrl, ...known })
  opened = (await sluice.batches.open()).id
})

afterAll(async () => {
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

const note = 'insert into notes values (1)'

const calls: [name: string, call: (tx: Connection) => Promise<unknown>][] = [
  ['enqueue', (tx) => sluice.jobs.enqueue(work, undefined, { tx })],
  ['enqueueMany', (tx) => sluice.jobs.enqueueMany(work, [undefined, undefined], { tx })],
  ['batches.run', (tx) => sluice.batches.run([planned(work)], { tx })],
  ['batches.open', (tx) => sluice.batches.open({ tx })],
  ['batches.open with a callback', (tx) => sluice.batches.open({ tx, onComplete: planned(work) })],
  ['add to a batch', (tx) => sluice.batches.at(opened, { tx }).add(work)],
  ['seal', (tx) => sluice.batches.at(opened, { tx }).seal()],
  ['operations.start', (tx) => sluice.operations.start(tidy, undefined, { tx })],
  ['machines.start', (tx) => sluice.machines.start(orders, 1, { tx })],
  ['machines.advance', (tx) => sluice.machines.advance(orders, 1, { to: 'paid', tx })],
  ['inboxes.receive', (tx) => sluice.inboxes.receive(renewals, { id: '7' }, { tx })],
  ['once', (tx) => sluice.once('a key', async ({ tx: within }) => void (await within.query(note, [])), { tx })],
]

/** All that the calls could leave. */
const recorded = (): Promise<unknown> =>
  db.value(`select json_build_object(
    'jobs', (select count(*) from sluice.job), 'operations', (select count(*) from sluice.operation),
    'batches', (select count(*) from sluice.job_batch), 'sealed', (select count(*) from sluice.job_batch_history),
    'orders', (select json_agg(state) from orders), 'messages', (select count(*) from sluice.inbox_message),
    'results', (select count(*) from sluice.once_result), 'notes', (select count(*) from notes))`)
const nothing = {
  jobs: 0,
  operations: 0,
  batches: 1,
  sealed: 0,
  orders: ['pending'],
  messages: 0,
  results: 0,
  notes: 0,
}

test.each(calls)('%s refuses a pool, and records nothing', async (_name, call) => {
  const pool = new pg.Pool({ connectionString: db.workerUrl })
  try {
    await expect(call(pool as never)).rejects.toMatchObject({
      code: 'TRANSACTION_INVALID',
      message: expect.stringContaining('is a pool') as string,
    })
  } finally {
    await pool.end()
  }
  expect(await recorded()).toEqual(nothing)
})

test.each(calls)('%s refuses a client before its begin and after its end, and records nothing', async (_name, call) => {
  await using client = await openClient(db.workerUrl)
  await expect(call(client)).rejects.toMatchObject({ code: 'TRANSACTION_INVALID' })
  expect(await recorded()).toEqual(nothing)
  await client.query('begin')
  await call(client)
  await client.query('rollback')
  await expect(call(client)).rejects.toMatchObject({ code: 'TRANSACTION_INVALID' })
  expect(await recorded()).toEqual(nothing)
})

test('a begin that is still under way counts', async () => {
  await sluice.jobs.enqueue(work, undefined, { in: '1d' })
  await using client = await openClient(db.workerUrl)
  const begun = client.query('begin')
  await sluice.jobs.enqueue(work, undefined, { tx: client })
  await begun
  await client.query('rollback')
  expect(await liveJobs(db)).toBe(1)
})
