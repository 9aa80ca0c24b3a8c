import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Sluice, type JobStatus } from '../../src/index.ts'
import type { JobFilter } from '../../src/jobs/query.ts'
import type { StoreConnection } from '../../src/store/connection.ts'
import { failureGroups, unmovedSteps } from '../../src/store/jobs/failures.ts'
import { listDone } from '../../src/store/jobs/lists.ts'
import { listQueues } from '../../src/store/jobs/views.ts'
import type { Statement } from '../../src/store/statement.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

const [history, queued, failed] = [60_000, 90_000, 6_000]

let db: TestDatabase
let sluice: Sluice

beforeAll(async () => {
  db = await testDatabase()
  sluice = new Sluice({ database: db.workerUrl })
  await db.query(`insert into sluice.job_class (name) select 'class ' || i from generate_series(1, 5) i`)
  await db.query(`insert into sluice.queue (name) values ('huge'), ('small')`)
  for (const days of [1, 2]) {
    await db.query(`select sluice.create_partition('job_history', (now() at time zone 'UTC')::date - ${days}, 1)`)
  }
  await db.query(
    `insert into sluice.job_history (id, claim_id, enqueued_at, finished_at, class_id, queue_id, wait_ms, run_ms, attempt)
     select i, 1, now(), now() - ($1::int - i) * interval '2 seconds', 1 + i % 5, 1, 1, 1, 1 from generate_series(1, $1::int) i`,
    [history],
  )
  await db.query(
    `insert into sluice.job (run_at, queue_id, class_id, state, priority, args)
     select now() - interval '1 minute', case when i % 1000 = 0 then 2 else 1 end, 1 + i % 5, case i % 9 when 0 then 2 else 0 end, 1, '{}'
     from generate_series(1, $1::int) i`,
    [queued],
  )
  await db.query(
    `insert into sluice.job_dead (id, enqueued_at, class_id, queue_id, priority, attempt, crashes, outcome, reason, error, args)
     select 1000000 + i, now(), 1 + i % 2, 1, 1, 1, 0, 'dead', 'failed', jsonb_build_object('name', 'Error', 'message',
       'order ' || i || ' of "' || md5(i::text) || '"', 'stack', (select string_agg(md5(i::text || n::text), '') from generate_series(1, 100) n)), '{}'
     from generate_series(1, $1::int) i`,
    [failed],
  )
})
afterAll(async () => {
  await sluice.stop()
  await db[Symbol.asyncDispose]()
})

/** Pages that a statement touches, by the server's own account. */
async function pagesOf<P>(of: Statement<P, unknown>, params: P): Promise<number> {
  const asked: { text: string; values: unknown[] }[] = []
  const connection = {
    schema: 'sluice',
    async query(text: string, values: unknown[]) {
      asked.push({ text, values })
      return { rows: [] }
    },
  } as unknown as StoreConnection
  await of(connection, params)
  const [{ text, values } = expect.unreachable()] = asked
  const [row] = await db.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
    `explain (analyze, buffers, format json) ${text}`,
    values,
  )
  const plan = row?.['QUERY PLAN'][0].Plan ?? {}
  return (plan['Shared Hit Blocks'] ?? NaN) + (plan['Shared Read Blocks'] ?? NaN)
}

const filter: JobFilter = {
  states: ['succeeded'],
  name: null,
  queue: null,
  tag: null,
  args: null,
  fingerprint: null,
  before: null,
  limit: 51,
  withinMs: 7 * 86_400_000,
}

describe.each([
  ['without statistics', 'select 1'],
  ['with statistics', 'analyze'],
])('%s', (_, prepare) => {
  beforeAll(() => db.query(prepare))

  test('a page of jobs that succeeded costs the same, wherever it is', async () => {
    const [first, later] = [filter, { ...filter, before: (Date.now() - 30_000_000) * 1_000 }]
    for (const one of [first, later, { ...filter, withinMs: 3_600_000 }, { ...filter, name: 'class 3' }]) {
      expect(await pagesOf(listDone, one)).toBeLessThan(900)
    }
    // Nothing ended in that hour: what ended before is not walked past.
    expect(await pagesOf(listDone, { ...filter, withinMs: 1 })).toBeLessThan(100)
  })

  test('all queues cost a few pages for each job that is looked at', async () => {
    expect(await pagesOf(listQueues, undefined)).toBeLessThan(30_000)
  })

  test('failures are grouped without their errors', async () => {
    const groups = { states: ['dead'], latest: 5_000, limit: 200 }
    const errors = await db.value<number>(
      `select (pg_total_relation_size(c.oid) / 8192)::int from pg_class c where c.oid = (
         select reltoastrelid from pg_class where oid = (select tableoid from sluice.job_dead limit 1))`,
    )
    expect(errors).toBeGreaterThan(2_000)
    expect(await pagesOf(failureGroups, groups)).toBeLessThan(errors)
  })

  test('a row that cannot be moved is looked up by index', async () => {
    const step = { at: 0, name: 'class 1', args: { key: '1' }, since: null }
    expect(await pagesOf(unmovedSteps, { steps: [step] })).toBeLessThan(100)
  })
})

test('queues are counted, and estimated when there are many', async () => {
  const [huge, small] = await sluice.queues.list()
  expect(small).toMatchObject({ name: 'small', estimated: false, waiting: 80, scheduled: 10, running: 0, parked: 90 })
  expect(huge).toMatchObject({ name: 'huge', estimated: true, blocked: 0, running: 0 })
  expect(huge?.waiting).toBeGreaterThan(70_000)
  expect(huge?.waiting).toBeLessThan(90_000)
  expect(huge?.scheduled).toBeGreaterThan(8_000)
  expect(huge?.scheduled).toBeLessThan(12_000)
  expect(huge?.oldestMs).toBeGreaterThan(59_000)
})

test('failures are grouped by what went wrong', async () => {
  const groups = await sluice.jobs.failures()
  const sizes = groups.map(({ name, jobs }) => `${name}: ${jobs}`)
  expect(sizes.toSorted()).toEqual([`class 1: ${failed / 2}`, `class 2: ${failed / 2}`])
  const [one] = groups
  const { jobs } = await sluice.jobs.list({ states: ['dead'], fingerprint: one?.fingerprint ?? '', limit: 1_000 })
  expect(new Set(jobs.map(({ name }: JobStatus) => name))).toEqual(new Set([one?.name]))
  expect(one?.error).toMatchObject({
    name: 'Error',
    message: expect.stringContaining(`order ${(one?.latestId ?? 0) - 1_000_000} of`),
  })
})

test('pages of jobs that succeeded leave none out, also of those that ended in the same microsecond', async () => {
  await db.query(
    `insert into sluice.job_history (id, claim_id, enqueued_at, finished_at, class_id, queue_id, wait_ms, run_ms, attempt)
     select 5000000 + i, 1, now(), now() - (i / 7) * interval '1 microsecond', 1, 2, 1, 1, 1 from generate_series(0, 99) i`,
  )
  const seen: number[] = []
  let before: number | null = null
  do {
    const page: Awaited<ReturnType<Sluice['jobs']['list']>> = await sluice.jobs.list({
      states: ['succeeded'],
      queue: 'small',
      before,
      limit: 10,
    })
    seen.push(...page.jobs.map(({ id }) => id))
    before = page.next
  } while (before !== null)
  expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => 5_000_000 + i))
})
