import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { defineJob, snooze, type JobDefinition } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { drained, openClient, startedWorker } from '../support/jobs.ts'
import { args, inOrder, lot, mostAtOnce, withSpans, type Args } from './spans.ts'

function recording(db: TestDatabase, limit: number, ms = 15): JobDefinition<Args> {
  return defineJob({
    name: 'keyed',
    args,
    concurrency: { limit, key: ({ key }) => key },
    async perform({ args: { key, n }, job }) {
      const id = await db.value('insert into span (job, key, n) values ($1, $2, $3) returning id', [job.id, key, n])
      await sleep(ms)
      await db.query('update span set ended = clock_timestamp() where id = $1', [id])
    },
  })
}

describe('jobs of a key', () => {
  test('run one at a time under a limit of 1, in the order of their enqueueing', async () => {
    await using db = await withSpans(await testDatabase())
    const keyed = recording(db, 1)
    await using worker = await startedWorker(db, [keyed], { concurrency: 10 })
    const [a, b] = [lot('a', 30), lot('b', 30)]
    await worker.jobs.enqueueMany(
      keyed,
      a.flatMap((one, at) => [one, b[at] ?? one]),
    )
    await drained(db)
    for (const key of ['a', 'b']) {
      expect(await mostAtOnce(db, key)).toBe(1)
      expect(await inOrder(db, key)).toEqual(Array.from({ length: 30 }, (_, n) => n))
    }
  })

  test('run three at a time under a limit of 3, and no more', async () => {
    await using db = await withSpans(await testDatabase())
    const keyed = recording(db, 3, 30)
    await using worker = await startedWorker(db, [keyed], { concurrency: 20 })
    await worker.jobs.enqueueMany(keyed, lot('a', 60))
    await drained(db)
    expect(await mostAtOnce(db, 'a')).toBe(3)
  })

  test('of callers at the same time, one by one, are limited alike', async () => {
    await using db = await withSpans(await testDatabase())
    const keyed = recording(db, 2)
    await using ada = await startedWorker(db, [keyed], { concurrency: 10 })
    await using bob = await startedWorker(db, [keyed], { concurrency: 10 })
    await Promise.all(lot('a', 40).map((one) => (one.n % 2 === 0 ? ada : bob).jobs.enqueue(keyed, one)))
    await drained(db)
    expect(await mostAtOnce(db, 'a')).toBe(2)
    expect(await inOrder(db, 'a')).toHaveLength(40)
  })

  test('leave a slot that a failed attempt made free, and take their turn again', async () => {
    await using db = await withSpans(await testDatabase())
    const failed = new Set<number>()
    const flaky = defineJob({
      name: 'flaky',
      args,
      concurrency: { limit: 1, key: ({ key }) => key },
      retry: { attempts: 3, wait: 200 },
      async perform({ args: { key, n }, job }) {
        const id = await db.value('insert into span (job, key, n) values ($1, $2, $3) returning id', [job.id, key, n])
        await sleep(10)
        await db.query('update span set ended = clock_timestamp() where id = $1', [id])
        if (n % 3 !== 0 || failed.has(n)) return undefined
        failed.add(n)
        if (n % 2 === 0) return snooze(100)
        throw new Error('once')
      },
    })
    await using worker = await startedWorker(db, [flaky], { concurrency: 10 })
    await worker.jobs.enqueueMany(flaky, lot('a', 12))
    await drained(db)
    expect(await mostAtOnce(db, 'a')).toBe(1)
    expect((await inOrder(db, 'a')).toSorted((x, y) => x - y)).toEqual([
      0, 0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11,
    ])
    expect(await db.value('select count(*)::int from sluice.job_history')).toBe(12)
  })

  test('that are scheduled wait for their time first, and then for their turn', async () => {
    await using db = await withSpans(await testDatabase())
    const keyed = recording(db, 1, 50)
    await using worker = await startedWorker(db, [keyed], { concurrency: 10 })
    await worker.jobs.enqueueMany(keyed, lot('a', 5), { in: '400ms' })
    await worker.jobs.enqueueMany(keyed, lot('a', 5))
    const far = await worker.jobs.enqueue(keyed, { key: 'a', n: 99 }, { in: '1d' })
    await worker.events.event('job.finished', { nth: 10 })
    expect(await mostAtOnce(db, 'a')).toBe(1)
    expect(await worker.jobs.get(far.id)).toMatchObject({ state: 'scheduled', key: 'a' })
    await worker.jobs.run(far.id)
    await worker.events.event('job.finished', { nth: 11 })
  })

  test('are let in when they were enqueued in a transaction with an old snapshot', async () => {
    await using db = await withSpans(await testDatabase())
    const keyed = recording(db, 1)
    await using worker = await startedWorker(db, [keyed])
    await worker.jobs.enqueueMany(keyed, lot('a', 5))
    await using tx = await openClient(db.workerUrl)
    await tx.query('begin isolation level repeatable read')
    await tx.query('select 1')
    await worker.jobs.enqueueMany(keyed, lot('a', 5))
    await worker.jobs.enqueueMany(keyed, lot('b', 5), { tx })
    await worker.jobs.enqueueMany(keyed, lot('a', 5), { tx })
    await tx.query('commit')
    await drained(db)
    expect(await mostAtOnce(db, 'a')).toBe(1)
    expect(await mostAtOnce(db, 'b')).toBe(1)
  })

  test('of many keys do not wait for one another', async () => {
    await using db = await withSpans(await testDatabase())
    const release: (() => void)[] = []
    const held = defineJob({
      name: 'held',
      args,
      concurrency: { limit: 1, key: ({ key }) => key },
      perform: ({ args: { key } }) =>
        key === 'stuck' ? new Promise<void>((resolve) => void release.push(resolve)) : undefined,
    })
    await using worker = await startedWorker(db, [held])
    await worker.jobs.enqueueMany(held, [...lot('stuck', 3), ...lot('a', 20), ...lot('b', 20)])
    await worker.events.event('job.finished', { nth: 40 })
    expect(release).toHaveLength(1)
    for (const nth of [1, 2, 3]) {
      await worker.events.event('job.started', { nth: 40 + nth })
      release.pop()?.()
    }
    await drained(db)
  })
})

test('jobs without a key are not held up by those that have one', async () => {
  await using db = await withSpans(await testDatabase())
  const release: (() => void)[] = []
  const held = defineJob({
    name: 'held',
    args,
    concurrency: { limit: 1, key: ({ key }) => key },
    perform: () => new Promise<void>((resolve) => void release.push(resolve)),
  })
  const free = defineJob({ name: 'free', args, perform: () => undefined })
  await using worker = await startedWorker(db, [held, free])
  await worker.jobs.enqueueMany(held, lot('a', 500))
  await worker.jobs.enqueueMany(free, lot('a', 200))
  await worker.events.event('job.finished', { nth: 200 })
  expect(release).toHaveLength(1)
  expect(await db.value('select count(*)::int from sluice.job where state = 1')).toBe(499)
})
