import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, Sluice } from '../../../src/index.ts'
import { openDatabase, type Database } from '../../../src/store/database.ts'
import {
  createSamplePartitions,
  dropSamplePartitions,
  queueDepths,
  writeSamples,
  type Counts,
} from '../../../src/store/samples.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { startFaultProxy } from '../../support/fault-proxy/index.ts'
import { claimForTheDead, drained, jobWorker, shortLease, startedWorker } from '../../support/jobs.ts'
import { until } from '../../support/wait.ts'

const numbered = z.object({ n: z.number() })
const many = (length: number): { n: number }[] => Array.from({ length }, (_, n) => ({ n }))
const noop = defineJob({ name: 'noop', args: numbered, queue: 'mail', perform: () => undefined })
const doomed = defineJob({
  name: 'doomed',
  args: numbered,
  queue: 'mail',
  retry: false,
  perform() {
    throw new Error('no')
  },
})

const counts = (queue: string, more: Partial<Counts['queues'][number]> = {}): Counts => ({
  queues: [{ queue, enqueued: 1, started: 0, finished: 0, failed: 0, died: 0, wait: [], run: [], ...more }],
  operations: [],
  signals: [],
})

async function connected(db: TestDatabase): Promise<Database> {
  const timeouts = { statementMs: 15_000, lockMs: 5_000, idleInTransactionMs: 30_000 }
  return openDatabase({ url: db.workerUrl, schema: 'sluice', workSize: 1, timeouts })
}

/** Puts queued jobs into a queue in one go. */
async function fill(db: TestDatabase, queue: string, jobs: number): Promise<void> {
  await db.query('insert into sluice.queue (name) values ($1) on conflict do nothing', [queue])
  await db.query(
    `insert into sluice.job (run_at, queue_id, class_id, state, priority, args)
     select now() - interval '1 minute', q.id, 1, 0, n % 3, '{}'
     from sluice.queue q, generate_series(1, $2::int) n where q.name = $1`,
    [queue, jobs],
  )
}

test('a process whose worker was drained still writes what it enqueues', async () => {
  await using db = await testDatabase()
  await using worker = await startedWorker(db, [noop], {}, { worker: shortLease })
  const [row] = await worker.sluice.workers()
  await worker.sluice.drain(row?.id ?? '')
  await worker.events.event('worker.stopped')
  await worker.jobs.enqueueMany(noop, many(4))
  const enqueued = () => db.value<number>('select coalesce(sum(enqueued), 0)::int from sluice.queue_sample_10s')
  await until('they are counted', async () => (await enqueued()) === 4)
})

test('what workers and those who only enqueue have counted adds up, with nothing lost when they stop', async () => {
  await using db = await testDatabase()
  await using producer = new Sluice({ database: db.workerUrl })
  await producer.jobs.enqueueMany(noop, many(20))
  await producer.jobs.enqueueMany(doomed, many(3))
  await producer.stop()
  {
    await using worker = jobWorker(db, [noop, doomed])
    await worker.sluice.start()
    await drained(db)
    await worker.events.event('job.died', { nth: 3 })
    await worker.events.event('job.finished', { nth: 20 })
  }
  const [sums] = await db.query(
    `select sum(enqueued)::int as enqueued, sum(started)::int as started, sum(finished)::int as finished,
       sum(died)::int as died, (select sum(n)::int from sluice.queue_sample_10s, unnest(wait) n where queue = 'mail') as waits
     from sluice.queue_sample_10s where queue = 'mail'`,
  )
  expect(sums).toEqual({ enqueued: 23, started: 23, finished: 20, died: 3, waits: 23 })
  const samples = await producer.samples.queues({ queue: 'mail' })
  expect(samples.reduce((sum, { finished }) => sum + finished, 0)).toBe(20)
  expect(samples.find(({ started }) => started > 0)?.wait.p95Ms).toBeGreaterThan(0)
})

test('a worker looks at its queues soon after its start, and a lost answer counts nothing twice', async () => {
  await using db = await testDatabase()
  const { hostname: host, port } = new URL(db.workerUrl)
  await using proxy = await startFaultProxy({ host, port: Number(port) })
  const lost = proxy.dropAnswerTo(/write_samples/, { ending: 'rst', times: 1 })
  await using worker = jobWorker(db, [noop], { url: proxy.url(db.workerUrl) })
  await worker.jobs.enqueueMany(noop, many(7))
  await worker.sluice.start()
  await until('an answer was lost', () => lost.hits === 1)
  await worker.events.event('job.finished', { nth: 7 })
  await worker.sluice.stop()
  const [sums] = await db.query(
    `select sum(enqueued)::int as enqueued, sum(finished)::int as finished, max(depth) is not null as looked
     from sluice.queue_sample_10s where queue = 'mail'`,
  )
  expect(sums).toEqual({ enqueued: 7, finished: 7, looked: true })
})

test('one process per span looks how long queues are, and the same counts are added once', async () => {
  await using db = await testDatabase()
  await using database = await connected(db)
  await fill(db, 'mail', 5)
  const workers = await db.query<{ id: string }>(
    `insert into sluice.worker (id, host, pid, version, operations)
     select gen_random_uuid(), 'here', 1, '0', '{}' from generate_series(1, 2) returning id`,
  )
  const [ada = '', bob = ''] = workers.map(({ id }) => id)
  const write = async (workerId: string, number: number): Promise<boolean | undefined> =>
    (await writeSamples(database.control, { workerId, number, counts: counts('mail') }))[0]?.taken
  const taken = [
    await write(ada, 1),
    await write(bob, 1),
    await write(ada, 1),
    await write(ada, 2),
    await write(ada, 2),
  ]
  // A span may end meanwhile; then there are two looks.
  const spans = await db.value<number>('select count(distinct at)::int from sluice.queue_sample_10s')
  expect(taken.filter(Boolean).length).toBeLessThanOrEqual(spans)
  expect(taken[0]).toBe(true)
  expect(await db.value('select sum(enqueued)::int from sluice.queue_sample_10s')).toBe(3)
  expect(await db.value('select max(depth)::int from sluice.queue_sample_10s')).toBe(5)
})

describe('the depth of a queue', () => {
  test('is what is due and claimed by nobody', async () => {
    await using db = await testDatabase()
    await using database = await connected(db)
    await fill(db, 'claimed', 7)
    await claimForTheDead(db)
    await fill(db, 'free', 30)
    await db.query(`update sluice.job set state = 4 where id in (select max(id) from sluice.job)`)
    await db.query(
      `update sluice.job set state = 2, run_at = now() + interval '1 hour' where id in (select min(id) from sluice.job
       where queue_id = (select id from sluice.queue where name = 'free'))`,
    )
    expect(await queueDepths(database.control)).toEqual([
      { queue: 'claimed', depth: 0, estimated: false, oldest_ms: null },
      { queue: 'free', depth: 29, estimated: false, oldest_ms: expect.any(Number) },
    ])
  })

  test('is estimated when there are many, at the cost of a few', async () => {
    await using db = await testDatabase()
    await using database = await connected(db)
    await fill(db, 'small', 40)
    await fill(db, 'huge', 120_000)
    const [huge, small] = await queueDepths(database.control)
    expect(small).toMatchObject({ queue: 'small', depth: 40, estimated: false })
    expect(huge).toMatchObject({ queue: 'huge', estimated: true })
    expect(huge?.depth).toBeGreaterThan(100_000)
    expect(huge?.depth).toBeLessThan(140_000)
    const [plan] = await db.query<{ 'QUERY PLAN': [{ Plan: { 'Shared Hit Blocks': number } }] }>(
      'explain (analyze, buffers, format json) select * from sluice.queue_depths()',
    )
    const blocks = plan?.['QUERY PLAN'][0].Plan['Shared Hit Blocks'] ?? Infinity
    const pages = await db.value<number>(`select (pg_relation_size('sluice.job') / 8192)::int`)
    expect(pages).toBeGreaterThan(900)
    // A few per job that is looked at, and the pages that stand for all.
    expect(blocks).toBeLessThan(30_000)
  })
})

test('minutes and hours are sums of what is finer, also when nobody was there for a while', async () => {
  await using db = await testDatabase()
  await using database = await connected(db)
  await db.query(
    `select sluice.create_partition(p, (now() at time zone 'UTC')::date - 1, 1)
     from unnest(array['queue_sample_10s', 'operation_sample_10s', 'signal_sample_10s']) p`,
  )
  await db.query(`select sluice.create_partition('queue_sample_' || s, date_trunc('week', now() at time zone 'UTC') - interval '7 days', 7)
    from unnest(array['1m', '1h']) s`)
  // The last hour that has been over for a while: the one that has just ended is not summed up yet.
  const hour = await db.value<string>(
    `select (date_trunc('hour', now() - interval '2 minutes', 'UTC') - interval '1 hour')::text`,
  )
  await db.query(
    `insert into sluice.queue_sample_10s (queue, at, enqueued, finished, wait, depth, oldest_ms)
     select 'mail', $1::timestamptz + n * interval '10 seconds', 2, 1, '{1,2}', n, 10 * n
     from generate_series(0, 359) n`,
    [hour],
  )
  await db.query(
    `update sluice.sample_clock set rolled_1m = now() - interval '1 day', rolled_1h = now() - interval '1 day'`,
  )
  await writeSamples(database.control, { workerId: randomUUID(), number: 1, counts: counts('other') })
  const sums = (span: string): Promise<object[]> =>
    db.query(
      `select count(*)::int as rows, coalesce(sum(enqueued), 0)::int as enqueued, max(oldest_ms)::int as oldest,
         max(wait) as wait from sluice.queue_sample_${span} where queue = 'mail'`,
    )
  expect(await sums('1m')).toEqual([{ rows: 60, enqueued: 720, oldest: 3_590, wait: ['6', '12'] }])
  expect(await sums('1h')).toEqual([{ rows: 1, enqueued: 720, oldest: 3_590, wait: ['360', '720'] }])
})

test('old partitions are dropped and new ones made, by a role that may not', async () => {
  await using db = await testDatabase()
  await using database = await connected(db)
  await db.query(
    `select sluice.create_partition('queue_sample_10s', date_trunc('day', now()::timestamp) - interval '9 days', 1)`,
  )
  const old = async (): Promise<number> =>
    db.value(`select count(*)::int from sluice.old_partitions('queue_sample_10s', 1, 2)`)
  expect(await old()).toBe(1)
  await dropSamplePartitions(database.control, { keepDays: 90 })
  await createSamplePartitions(database.control)
  expect(await old()).toBe(0)
  const [written] = await writeSamples(database.control, { workerId: randomUUID(), number: 1, counts: counts('x') })
  expect(written?.taken).toBe(true)
})
