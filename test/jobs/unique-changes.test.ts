// A transaction that finds its unique key in use leaves its work to the job that has the key. That job must see it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { drained, jobWorker, openClient, startedWorker, type JobWorker } from '../support/jobs.ts'
import { overOrWaiting } from '../support/locks.ts'
import { until } from '../support/wait.ts'
import { claimByHand } from './claim-by-hand.ts'
import { patient } from './store-by-hand.ts'

const sync = defineJob({ name: 'sync', unique: { until: 'start' }, perform: () => undefined })
const other = defineJob({ name: 'other', perform: () => undefined })

let db: TestDatabase
let app: JobWorker
let first: number

beforeEach(async () => {
  db = await testDatabase()
  app = jobWorker(db, [sync, other], {}, patient)
  first = (await app.jobs.enqueue(sync)).id
})

afterEach(async () => {
  await app[Symbol.asyncDispose]()
  await db[Symbol.asyncDispose]()
})

let claims = 0
const claim = async (): Promise<number[]> => (await claimByHand(db.workerUrl, ++claims)).ids

/** A transaction that counts on the job that has the key. */
async function counting(job = first): Promise<Awaited<ReturnType<typeof openClient>>> {
  const client = await openClient(db.workerUrl)
  await client.query('begin')
  expect(await app.jobs.enqueue(sync, undefined, { tx: client })).toEqual({ id: job, duplicate: true })
  return client
}

test('the index that the trigger of the manual keeps has every change, also one that was open when its job was due', async () => {
  await db.query(`create table documents (id int primary key, v int);
    create table search_index (id int primary key, v int);
    create function enqueue_index() returns trigger language plpgsql security definer
    set search_path = pg_catalog, pg_temp as $$
    begin
      perform sluice.enqueue(json_build_object('job', 'index-document', 'args', json_build_object('documentId', new.id),
        'unique', json_build_object('until', 'start'))::text);
      return null;
    end $$;
    create trigger documents_index after insert or update on documents for each row execute function enqueue_index()`)
  const index = defineJob({
    name: 'index-document',
    args: z.object({ documentId: z.number() }),
    unique: { until: 'start' },
    transaction: true,
    async perform({ args, tx }) {
      const upsert = `insert into search_index select id, v from documents where id = $1
        on conflict (id) do update set v = excluded.v`
      await tx.query(upsert, [args.documentId])
    },
  })
  await db.query('insert into documents values (7, 1)')
  await using writer = await openClient(db.url)
  await writer.query('begin')
  await writer.query('update documents set v = 2 where id = 7')
  await using worker = await startedWorker(db, [index, sync, other])
  // The worker has looked: what came later has run.
  const { id } = await worker.jobs.enqueue(other)
  await until('that has run', async () => (await worker.jobs.get(id)).state === 'succeeded')
  expect(worker.events.payloads('job.started').map(({ name }) => name)).not.toContain('index-document')
  expect(await db.value('select count(*)::int from search_index')).toBe(0)
  await writer.query('commit')
  await drained(db)
  expect(await db.query('select id, v from search_index')).toEqual([{ id: 7, v: 2 }])
})

describe('a job that an open transaction counts on', () => {
  const states = {
    'is new': undefined,
    'was scheduled and is due': `update sluice.job set state = 2`,
    'is next in line': `update sluice.job set state = 4`,
  }
  test.each(Object.entries(states))('and that %s starts when that has committed', async (_name, change) => {
    if (change !== undefined) await db.query(change)
    await using writer = await counting()
    const { id } = await app.jobs.enqueue(other)
    expect(await claim()).toEqual([id])
    expect(await claim()).toEqual([])
    await writer.query('commit')
    expect(await claim()).toEqual([first])
    expect(await db.value('select count(*)::int from sluice.job_lock')).toBe(0)
  })

  test('starts when that has rolled back', async () => {
    await using writer = await counting()
    expect(await claim()).toEqual([])
    await writer.query('rollback')
    expect(await claim()).toEqual([first])
  })

  test('gives its key up once it is due, so that it starts though there is always one, and the next waits in its place', async () => {
    await using writer = await counting()
    expect(await claim()).toEqual([])
    const next = await app.jobs.enqueue(sync)
    expect(next.duplicate).toBe(false)
    await using later = await counting(next.id)
    // The next one has the row, and the lock of the first transaction on it.
    expect(await claim()).toEqual([first])
    await later.query('commit')
    expect(await claim()).toEqual([])
    await writer.query('commit')
    expect(await claim()).toEqual([next.id])
  })

  test('can be cancelled, and its key is free then', async () => {
    await using writer = await counting()
    await app.jobs.cancel(first)
    expect(await app.jobs.enqueue(sync)).toMatchObject({ duplicate: false })
    await writer.query('commit')
    expect(await app.jobs.enqueue(sync)).toMatchObject({ duplicate: true })
  })
})

test('a transaction that meets a job in the moment of its start enqueues another', async () => {
  await using worker = await openClient(db.workerUrl)
  await worker.query('begin')
  // What a claim does to the key, and does not commit yet.
  await worker.query('delete from sluice.job_lock where job_id = $1', [first])
  await using writer = await openClient(db.workerUrl)
  await writer.query('begin')
  const second = app.jobs.enqueue(sync, undefined, { tx: writer })
  await overOrWaiting(db, second)
  await worker.query('commit')
  expect((await second).duplicate).toBe(false)
  await writer.query('commit')
})

const lockers = (): Promise<string> => db.value('select xmax::text from sluice.job_lock')

test('a call that is its whole transaction locks nobody out', async () => {
  expect(await app.jobs.enqueue(sync)).toMatchObject({ duplicate: true })
  expect(await lockers()).toBe('0')
})

test('a key that is held until success locks nobody out', async () => {
  const whole = defineJob({ name: 'whole', unique: { until: 'success' }, perform: () => undefined })
  await claim()
  const { id } = await app.jobs.enqueue(whole)
  await using writer = await openClient(db.workerUrl)
  await writer.query('begin')
  expect(await app.jobs.enqueue(whole, undefined, { tx: writer })).toEqual({ id, duplicate: true })
  expect(await lockers()).toBe('0')
  expect(await claim()).toEqual([id])
  await writer.query('commit')
})
