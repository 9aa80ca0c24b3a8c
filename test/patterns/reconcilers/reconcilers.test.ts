import { EventEmitter, once } from 'node:events'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, defineReconciler, Sluice, sql, type ReconcilerDefinition } from '../../../src/index.ts'
import { testJobs } from '../../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { drained, jobWorker, openClient, startedWorker } from '../../support/jobs.ts'
import { until } from '../../support/wait.ts'

const limitMs = 90_000

let db: TestDatabase

const allTables = 'sluice.job, sluice.job_lock, sluice.job_claim, sluice.reconciler'

beforeAll(async () => {
  db = await testDatabase()
  await db.query(`create table records (id bigint primary key, state text not null default 'pending',
    changed_at timestamptz not null default now() - interval '1 hour')`)
})
afterAll(() => db[Symbol.asyncDispose]())
beforeEach(() => db.query(`truncate records, ${allTables}`))

const finish = defineJob({
  name: 'finish',
  args: z.object({ id: z.number().int() }),
  unique: {},
  transaction: true,
  async perform({ args, tx }) {
    await tx.query(`update records set state = 'done' where id = $1`, [args.id])
  },
})

const pending = { table: 'records', where: sql`state = 'pending'`, olderThan: '2m', by: 'changed_at' } as const
const args = (row: Record<string, unknown>): { id: number } => ({ id: Number(row['id']) })
const reconcile = (more: Partial<Parameters<typeof defineReconciler<{ id: number }>>[0]> = {}): ReconcilerDefinition =>
  defineReconciler({ name: 'pending-records', find: pending, job: finish, args, every: '1h', jitter: '1s', ...more })

const insert = (from: number, to: number): Promise<unknown> =>
  db.query('insert into records (id) select generate_series($1::int, $2::int)', [from, to])
const open = (): Promise<number> => db.value(`select count(*)::int from records where state = 'pending'`)

/** A process that knows a reconciler and does not work. */
function idle(reconciler: ReconcilerDefinition): Sluice & AsyncDisposable {
  const timeouts = { statement: '60s', lock: '60s' } as const
  return new Sluice({ database: db.workerUrl, jobs: [finish], reconcilers: [reconciler], timeouts })
}

test('every record is enqueued once, in pages, and what waits is passed over', async () => {
  const reconciler = reconcile()
  await using sluice = idle(reconciler)
  await insert(1, 2_500)
  await db.query(
    `update records set changed_at = now() where id > 2400; update records set state = 'done' where id = 7`,
  )
  const first = { found: 2_399, enqueued: 2_399, duplicates: 0, refused: 0, error: null, lost: false }
  expect(await sluice.reconcilers.run(reconciler)).toEqual(first)
  expect(await sluice.reconcilers.run('pending-records')).toEqual({ ...first, enqueued: 0, duplicates: 2_399 })
  const { jobs } = await sluice.jobs.list({ limit: 1_000 })
  // Spread over a second: they do not all start at once.
  expect(new Set(jobs.map(({ runAt }) => runAt?.getTime())).size).toBeGreaterThan(100)
  expect(await sluice.reconcilers.list()).toMatchObject([
    { name: 'pending-records', everyMs: 3_600_000, running: false, found: 2_399, enqueued: 0, error: null },
  ])
})

test('a select of the user may take its place, with a key of its own', async () => {
  await db.query('create table things (name text primary key, ready boolean not null)')
  await db.query(`insert into things select 'thing ' || n, n % 2 = 0 from generate_series(1, 10) n`)
  const named = defineJob({ name: 'named', args: z.object({ name: z.string() }), unique: {}, perform: () => undefined })
  const reconciler = defineReconciler({
    name: 'things',
    find: sql`select name from things where not ready and name <> ${'thing 3'}`,
    key: 'name',
    job: named,
    args: (row) => ({ name: String(row['name']) }),
  })
  await using sluice = idle(reconciler)
  expect(await sluice.reconcilers.run(reconciler)).toMatchObject({ found: 4, enqueued: 4 })
})

test('a limit counts new jobs, so that what waits does not starve the rest', async () => {
  const reconciler = reconcile({ limit: 40 })
  await using sluice = idle(reconciler)
  await insert(1, 100)
  const runs = []
  for (let i = 0; i < 4; i++) runs.push((await sluice.reconcilers.run(reconciler)).enqueued)
  expect(runs).toEqual([40, 40, 20, 0])
})

test('a record for which no job can be made does not stand in the way of others', async () => {
  const reconciler = reconcile({
    args(row) {
      if (row['id'] === '2') throw new Error('cannot tell')
      return { id: row['id'] === '3' ? 0.5 : Number(row['id']) }
    },
  })
  await using sluice = idle(reconciler)
  await insert(1, 5)
  const result = await sluice.reconcilers.run(reconciler)
  expect(result).toMatchObject({ found: 5, enqueued: 3, refused: 2, error: { message: 'cannot tell' } })
  expect((await sluice.reconcilers.list())[0]).toMatchObject({ error: { message: 'cannot tell' } })
})

test('a query that does not work says so, and is kept as the error of the run', async () => {
  const reconciler = reconcile({ find: { ...pending, by: 'changd_at' } })
  await using sluice = idle(reconciler)
  await expect(sluice.reconcilers.run(reconciler)).rejects.toMatchObject({
    code: 'SCOPE_INVALID',
    message: expect.stringContaining('changd_at'),
  })
  expect((await sluice.reconcilers.list())[0]).toMatchObject({ running: false, error: { name: 'SluiceError' } })
})

test('of many workers one runs an interval', async () => {
  const reconciler = reconcile()
  await insert(1, 10)
  const workers = await Promise.all([1, 2, 3].map(() => startedWorker(db, [finish], {}, { reconcilers: [reconciler] })))
  await until('all records are done', async () => (await open()) === 0, limitMs)
  // All of them have looked by then.
  await Promise.all(workers.map(({ events }) => events.event('worker.started', { limitMs })))
  await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()))
  expect(workers.reduce((sum, { events }) => sum + events.count('reconciler.finished'), 0)).toBe(1)
})

test('intervals follow each other by themselves', async () => {
  await using worker = await startedWorker(
    db,
    [finish],
    {},
    {
      reconcilers: [reconcile({ every: '200ms', jitter: '10ms' })],
    },
  )
  await worker.events.event('reconciler.finished', { nth: 2, limitMs })
  await insert(1, 3)
  await until('all records are done', async () => (await open()) === 0, limitMs)
})

test('a run that has lost its interval stops before it enqueues more', async () => {
  await insert(1, 1_500)
  const page = new EventEmitter()
  const atPage = once(page, 'reached')
  const reconciler = reconcile({
    args(row) {
      if (row['id'] === '1000') page.emit('reached')
      return args(row)
    },
  })
  await using sluice = idle(reconciler)
  // The first page waits here to be enqueued.
  await using client = await openClient(db.url)
  await client.query('begin; lock table sluice.job_lock in access exclusive mode')
  const run = sluice.reconcilers.run(reconciler).catch((error: unknown) => error)
  await atPage
  await db.query(`update sluice.reconciler set nonce = gen_random_uuid() where name = 'pending-records'`)
  await client.query('commit')
  expect(await run).toMatchObject({ code: 'RECONCILER_BUSY' })
  expect(await db.value('select count(*)::int from sluice.job')).toBe(1_000)
})

describe('after a loss', () => {
  test('of the whole queue everything that is pending is enqueued anew', async () => {
    const reconciler = reconcile()
    await using sluice = idle(reconciler)
    const jobs = testJobs(sluice)
    await insert(1, 20)
    await sluice.reconcilers.run(reconciler)
    await jobs.clock.travel('1m')
    await jobs.drain({ limit: 5 })
    expect(await jobs.clear()).toBe(15)
    expect(await sluice.reconcilers.run(reconciler)).toMatchObject({ enqueued: 15 })
    await jobs.clock.travel('1m')
    await jobs.drain()
    expect(await open()).toBe(0)
  })

  test('of the jobs alone their unique keys are freed first', async () => {
    const reconciler = reconcile()
    await using sluice = idle(reconciler)
    await insert(1, 20)
    await sluice.reconcilers.run(reconciler)
    await db.query('delete from sluice.job where id in (select id from sluice.job order by id limit 12)')
    expect(await sluice.reconcilers.run(reconciler)).toMatchObject({ enqueued: 12, duplicates: 8 })
    expect(await sluice.reconcilers.run(reconciler)).toMatchObject({ enqueued: 0, duplicates: 20 })
  })

  test('of its own row it runs at once', async () => {
    await using worker = jobWorker(db, [finish], {}, { reconcilers: [reconcile({ every: '500ms', jitter: '10ms' })] })
    await worker.sluice.start()
    await worker.events.event('reconciler.finished', { limitMs })
    await insert(1, 3)
    await db.query(`truncate ${allTables}`)
    await until('all records are done', async () => (await open()) === 0, limitMs)
    await drained(db, limitMs)
  })
})
