import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { jobWorker, liveJobs, startedWorker } from '../support/jobs.ts'

const greet = defineJob({ name: 'greet', args: z.object({ n: z.number().int() }), perform: () => undefined })

test('a job is recorded with its args, queue, priority and tags, and runs', async () => {
  await using db = await testDatabase()
  const seen: unknown[] = []
  const mail = defineJob({
    name: 'mail',
    queue: 'letters',
    args: z.object({ to: z.string() }),
    perform({ args, job }) {
      seen.push({ args, ...job })
    },
  })
  await using worker = jobWorker(db, [mail])
  const { id, duplicate } = await worker.jobs.enqueue(mail, { to: 'ada' }, { priority: 'high', tags: ['vip', 'eu'] })
  expect(duplicate).toBe(false)
  expect(await worker.jobs.get(id)).toMatchObject({
    id,
    name: 'mail',
    queue: 'letters',
    state: 'waiting',
    priority: 'high',
    args: { to: 'ada' },
    tags: ['vip', 'eu'],
    attempt: 0,
    attempts: [],
  })
  await worker.sluice.start()
  await worker.events.event('job.finished')
  const expected = { id, name: 'mail', queue: 'letters', attempt: 1, tags: ['vip', 'eu'], idempotencyKey: `job:${id}` }
  expect(seen).toMatchObject([{ args: { to: 'ada' }, ...expected }])
  expect(await worker.jobs.get(id)).toMatchObject({ state: 'succeeded', queue: 'letters', attempt: 1 })
})

test('many are recorded in order, each with its id, a thousand per statement', async () => {
  await using db = await testDatabase()
  await using worker = jobWorker(db, [greet])
  const args = Array.from({ length: 2_500 }, (_, n) => ({ n }))
  const enqueued = await worker.jobs.enqueueMany(greet, args)
  expect(enqueued.every(({ duplicate }) => !duplicate)).toBe(true)
  const rows = await db.query<{ id: number; n: number }>(
    `select id::int, (args ->> 'n')::int as n from sluice.job order by id`,
  )
  expect(rows).toEqual(enqueued.map(({ id }, n) => ({ id, n })))
  expect(await db.value('select count(distinct xmin::text)::int from sluice.job')).toBe(3)
})

test('none of many is recorded when one of them does not fit', async () => {
  await using db = await testDatabase()
  await using worker = jobWorker(db, [greet])
  const args = Array.from({ length: 1_500 }, (_, n) => ({ n: n === 1_499 ? 0.5 : n }))
  await expect(worker.jobs.enqueueMany(greet, args)).rejects.toMatchObject({ code: 'ARGS_INVALID' })
  expect(await liveJobs(db)).toBe(0)
})

test('an empty list records nothing', async () => {
  await using db = await testDatabase()
  await using worker = jobWorker(db, [greet])
  expect(await worker.jobs.enqueueMany(greet, [])).toEqual([])
})

test('a job waits for so long, or until a moment, by the clock of the database', async () => {
  await using db = await testDatabase()
  await using worker = jobWorker(db, [greet])
  const later = await worker.jobs.enqueue(greet, { n: 1 }, { in: '30m' })
  const { runAt, enqueuedAt, state } = await worker.jobs.get(later.id)
  expect(state).toBe('scheduled')
  expect(Number(runAt) - Number(enqueuedAt)).toBe(30 * 60_000)
  const at = new Date(Date.now() + 86_400_000)
  const tomorrow = await worker.jobs.enqueue(greet, { n: 2 }, { at })
  expect(await worker.jobs.get(tomorrow.id)).toMatchObject({ state: 'scheduled', runAt: at })
  await worker.sluice.start()
  // A moment that has passed is now.
  const { id } = await worker.jobs.enqueue(greet, { n: 3 }, { at: new Date(Date.now() - 3_600_000) })
  expect(await worker.events.event('job.finished')).toMatchObject({ jobId: id })
  const soon = await worker.jobs.enqueue(greet, { n: 4 }, { in: '300ms' })
  expect(await worker.events.event('job.finished', { nth: 2 })).toMatchObject({ jobId: soon.id })
  expect(await liveJobs(db)).toBe(2)
})

describe('callers at the same time', () => {
  test('share statements, and each has its own durable job', async () => {
    await using db = await testDatabase()
    await using worker = jobWorker(db, [greet])
    const enqueued = await Promise.all(Array.from({ length: 64 }, (_, n) => worker.jobs.enqueue(greet, { n })))
    expect(new Set(enqueued.map(({ id }) => id)).size).toBe(64)
    const rows = await db.query<{ id: number; n: number }>(`select id::int, (args ->> 'n')::int as n from sluice.job`)
    expect(rows.toSorted((a, b) => a.n - b.n)).toEqual(enqueued.map(({ id }, n) => ({ id, n })))
    const statements = await db.value<number>('select count(distinct xmin::text)::int from sluice.job')
    expect(statements).toBeLessThan(16)
  })

  test('are not harmed by one whose job the database refuses', async () => {
    await using db = await testDatabase()
    await db.query(`create function refuse() returns trigger language plpgsql as
      $$ begin raise exception 'thirteen is bad luck' using errcode = 'P0013'; end $$`)
    await db.query(`create trigger refuse before insert on sluice.job
      for each row when (new.args ->> 'n' = '13') execute function refuse()`)
    await using worker = jobWorker(db, [greet])
    const calls = Array.from({ length: 40 }, (_, n) => worker.jobs.enqueue(greet, { n }))
    const settled = await Promise.allSettled(calls)
    const failed = settled.flatMap(({ status }, n) => (status === 'rejected' ? [n] : []))
    expect(failed).toEqual([13])
    await expect(calls[13]).rejects.toThrow('thirteen is bad luck')
    expect(await liveJobs(db)).toBe(39)
  })
})

test('args are stored as they were given, and handed over as the schema makes them', async () => {
  await using db = await testDatabase()
  const seen: unknown[] = []
  const remind = defineJob({
    name: 'remind',
    args: z.object({ on: z.coerce.date<string | Date>(), times: z.number().default(3), tag: z.string().trim() }),
    perform: ({ args }) => void seen.push(args),
  })
  await using worker = await startedWorker(db, [remind])
  const on = new Date('2031-05-06T07:08:09.010Z')
  const { id } = await worker.jobs.enqueue(remind, { on, tag: ' x ' }, { in: '1h' })
  expect((await worker.jobs.get(id)).args).toEqual({ on: on.toISOString(), tag: ' x ' })
  await worker.jobs.run(id)
  await worker.events.event('job.finished')
  expect(seen).toEqual([{ on, times: 3, tag: 'x' }])
})

test('a job without args takes none', async () => {
  await using db = await testDatabase()
  const bare = defineJob({ name: 'bare', perform: ({ args }) => expect(args).toBeUndefined() })
  await using worker = await startedWorker(db, [bare])
  await worker.jobs.enqueue(bare)
  await worker.events.event('job.finished')
  await expect(worker.jobs.enqueue(bare, { n: 1 } as never)).rejects.toMatchObject({ code: 'ARGS_INVALID' })
})

describe('refused with a reason', () => {
  test.each([
    ['both "in" and "at"', { in: '1s', at: new Date() }, 'give "in" or "at", not both'],
    ['an invalid date', { at: new Date(Number.NaN) }, '"at" must be a valid Date'],
    ['a far date', { at: new Date('2099-01-01') }, '"at" must be within ten years'],
    ['a time that is none', { in: 'soon' }, '"in" must be a time'],
    ['a time beyond ten years', { in: '9999 days' }, '"in" must be a time'],
    ['an unknown priority', { priority: 'urgent' }, '"priority" must be high, normal or low'],
    ['too many tags', { tags: Array.from({ length: 21 }, () => 'x') }, '"tags" must be up to 20 texts'],
    ['an empty tag', { tags: [''] }, '"tags" must be up to 20 texts'],
    ['an option that there is not', { delay: '1h' }, 'there is no option "delay"'],
    ['an option that is nearly one', { Priority: 'high' }, 'Did you mean "priority"?'],
    ['options that are none', null, 'its options must be an object'],
    ['a queue that is no name', { queue: 'a b' }, 'cannot be the name of a queue'],
  ])('%s', async (_, options, message) => {
    await using db = await testDatabase()
    await using worker = jobWorker(db, [greet])
    await expect(worker.jobs.enqueue(greet, { n: 1 }, options as never)).rejects.toThrow(message)
    expect(await liveJobs(db)).toBe(0)
  })
})
