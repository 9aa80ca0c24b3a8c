import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { jobWorker, liveJobs, openClient, startedWorker } from '../support/jobs.ts'
import { until } from '../support/wait.ts'

const greet = defineJob({ name: 'greet', args: z.object({ n: z.number().int() }), perform: () => undefined })

describe("in the caller's transaction", () => {
  test('a job exists when that commits, and not before', async () => {
    await using db = await testDatabase()
    await using worker = await startedWorker(db, [greet], { poll: '1m' })
    await using tx = await openClient(db.workerUrl)
    await tx.query('begin')
    const { id } = await worker.jobs.enqueue(greet, { n: 1 }, { tx })
    const many = await worker.jobs.enqueueMany(greet, [{ n: 2 }, { n: 3 }], { tx, in: '1h' })
    expect([id, ...many.map((job) => job.id)].every((n) => Number.isSafeInteger(n))).toBe(true)
    expect(await liveJobs(db)).toBe(0)
    await tx.query('commit')
    // The hint goes out with the commit: a poll would come a minute later.
    expect(await worker.events.event('job.finished')).toMatchObject({ jobId: id })
    expect(await liveJobs(db)).toBe(2)
  })

  test('a job vanishes with a rollback, and so does its unique key', async () => {
    await using db = await testDatabase()
    const once = defineJob({ name: 'once', unique: {}, perform: () => undefined })
    await using worker = jobWorker(db, [greet, once])
    await using tx = await openClient(db.workerUrl)
    await tx.query('begin')
    await worker.jobs.enqueue(greet, { n: 1 }, { tx })
    expect(await worker.jobs.enqueue(once, undefined, { tx })).toMatchObject({ duplicate: false })
    expect(await worker.jobs.enqueue(once, undefined, { tx })).toMatchObject({ duplicate: true })
    await tx.query('rollback')
    expect(await liveJobs(db)).toBe(0)
    expect(await worker.jobs.locks()).toEqual([])
    expect(await worker.jobs.enqueue(once)).toMatchObject({ duplicate: false })
  })
})

test.each(['read committed', 'repeatable read', 'serializable'])(
  'a transaction that is %s may be the first to use a name',
  async (level) => {
    await using db = await testDatabase()
    await using worker = await startedWorker(db, [])
    await using tx = await openClient(db.workerUrl)
    await tx.query(`begin isolation level ${level}`)
    await tx.query('select count(*) from sluice.job_class')
    const { id } = await worker.jobs.enqueue(greet, { n: 1 }, { tx, queue: 'new', tags: ['x'] })
    await tx.query('commit')
    expect(await worker.jobs.get(id)).toMatchObject({ state: 'waiting', name: 'greet', queue: 'new' })
  },
)

describe('by SQL', () => {
  test('an object is one job and an array is many, in order', async () => {
    await using db = await testDatabase()
    await using worker = await startedWorker(db, [greet])
    const one = await db.query(`select at, duplicate from sluice.enqueue('{"job": "greet", "args": {"n": 1}}')`)
    expect(one).toEqual([{ at: 0, duplicate: false }])
    const many = await db.query<{ at: number; id: number }>(
      `select at, id::int from sluice.enqueue('[{"job": "greet", "args": {"n": 2}}, {"job": "greet", "args": {"n": 3},
         "delayMs": 3600000, "priority": "low", "queue": "slow", "tags": ["a", "b"]}]')`,
    )
    expect(many.map(({ at }) => at)).toEqual([0, 1])
    await worker.events.event('job.finished', { nth: 2 })
    const [left] = (await worker.jobs.list()).jobs
    const expected = { state: 'scheduled', priority: 'low', queue: 'slow', tags: ['a', 'b'], args: { n: 3 } }
    expect(left).toMatchObject({ id: many[1]?.id, ...expected })
  })

  test('a trigger of a table enqueues with the row', async () => {
    await using db = await testDatabase()
    const seen: number[] = []
    const welcome = defineJob({
      name: 'welcome',
      args: z.object({ user: z.number() }),
      perform: ({ args }) => void seen.push(args.user),
    })
    await db.query('create table users (id int primary key)')
    await db.query(`create function welcome() returns trigger language plpgsql as $$ begin
      perform sluice.enqueue(json_build_object('job', 'welcome', 'args', json_build_object('user', new.id))::text);
      return new; end $$`)
    await db.query('create trigger welcome after insert on users for each row execute function welcome()')
    await using worker = await startedWorker(db, [welcome])
    await using tx = await openClient(db.workerUrl)
    await tx.query('begin; insert into users values (1), (2); rollback')
    await tx.query('insert into users values (3), (4)')
    await worker.events.event('job.finished', { nth: 2 })
    expect(new Set(seen)).toEqual(new Set([3, 4]))
    expect(seen).toHaveLength(2)
    expect(await liveJobs(db)).toBe(0)
  })

  test('what the definition says of queue, priority and uniqueness holds, too', async () => {
    await using db = await testDatabase()
    const careful = defineJob({
      name: 'careful',
      queue: 'billing',
      priority: 'high',
      args: z.object({ a: z.number(), b: z.number() }),
      unique: { for: '1h', until: 'success' },
      perform: () => undefined,
    })
    await using worker = await startedWorker(db, [careful])
    await until(
      'the definition is known',
      async () => (await db.value(`select count(*)::int from sluice.job_class where name = 'careful'`)) === 1,
    )
    const enqueue = `select id::int, duplicate from sluice.enqueue($1)`
    const [first] = await db.query<{ id: number }>(enqueue, [
      '{"job": "careful", "args": {"a": 1, "b": 2}, "delayMs": 3600000}',
    ])
    expect(await db.query(enqueue, ['{"job": "careful", "args": {"b": 2, "a": 1}}'])).toEqual([
      { id: first?.id, duplicate: true },
    ])
    // The same key, whoever enqueues.
    expect(await worker.jobs.enqueue(careful, { b: 2, a: 1 })).toEqual({ id: first?.id, duplicate: true })
    expect(await worker.jobs.get(first?.id ?? 0)).toMatchObject({ queue: 'billing', priority: 'high' })
    expect(await worker.jobs.locks()).toMatchObject([{ name: 'careful', until: 'success', job_id: first?.id }])
  })

  test('a key that the definition computes in code must be given', async () => {
    await using db = await testDatabase()
    const keyed = defineJob({
      name: 'keyed',
      args: z.object({ customer: z.number() }),
      unique: { key: ({ customer }) => `c${customer}` },
      concurrency: { limit: 1, key: ({ customer }) => `customer:${customer}` },
      perform: () => undefined,
    })
    await using worker = await startedWorker(db, [keyed])
    await until(
      'the definition is known',
      async () => (await db.value(`select count(*)::int from sluice.job_class where name = 'keyed'`)) === 1,
    )
    const base = { job: 'keyed', args: { customer: 7 } }
    const enqueue = (job: object): Promise<object[]> =>
      db.query(`select * from sluice.enqueue($1)`, [JSON.stringify(job)])
    await expect(enqueue(base)).rejects.toThrow('"keyed" needs a "unique" of its own')
    await expect(enqueue({ ...base, unique: { key: 'c7' } })).rejects.toThrow('"keyed" needs a "key" of its own')
    await enqueue({ ...base, unique: { key: 'c7' }, key: { name: 'customer:7', limit: 1 } })
    await worker.events.event('job.finished')
  })

  test.each([
    ['nonsense', '"x"', 'takes a JSON object or an array of objects'],
    ['an array of nonsense', '[1]', 'each job must be a JSON object'],
    ['no name', '{}', '"job" must be the name of a job'],
    ['a bad name', '{"job": "a b"}', '"job" must be the name of a job'],
    ['a bad queue', '{"job": "a", "queue": 1}', '"queue" must be the name of a queue'],
    ['an unknown field', '{"job": "a", "arguments": {}}', 'there is no field "arguments"'],
    ['an unknown priority', '{"job": "a", "priority": "urgent"}', '"priority" must be high, normal or low'],
    ['a delay that is none', '{"job": "a", "delayMs": "soon"}', '"delayMs" must be a number of milliseconds'],
    ['two times', '{"job": "a", "delayMs": 1, "runAt": "2031-01-01"}', 'give "delayMs" or "runAt", not both'],
    ['tags that are no list', '{"job": "a", "tags": "x"}', '"tags" must be an array of up to 20 texts'],
    ['a bad until', '{"job": "a", "unique": {"until": "end"}}', '"unique.until" must be start or success'],
    ['a key without a limit', '{"job": "a", "key": {"name": "k"}}', '"key" must be an object with a name'],
  ])('%s is refused with a reason', async (_, given, message) => {
    await using db = await testDatabase()
    await expect(db.query(`select * from sluice.enqueue($1)`, [given])).rejects.toThrow(message)
    await expect(db.query(`select * from sluice.enqueue($1)`, [given])).rejects.toMatchObject({ code: '22023' })
    expect(await liveJobs(db)).toBe(0)
  })
})
