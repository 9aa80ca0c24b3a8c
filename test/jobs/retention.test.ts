import { expect, test } from 'vitest'
import { cancel, defineJob } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { openClient, startedWorker } from '../support/jobs.ts'
import { until } from '../support/wait.ts'

const parents = ['job_history', 'job_dead', 'job_attempt'] as const

/** Makes the partition of a day some days ago, as a worker had made it then. Gives its name. */
async function dayAgo(db: TestDatabase, parent: (typeof parents)[number], days: number): Promise<string> {
  const day = new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
  const child = `${parent}_${day.replaceAll('-', '')}`
  await db.query(`create table sluice.${child} partition of sluice.${parent}
    for values from ('${day}T00:00:00Z') to (timestamptz '${day}T00:00:00Z' + interval '1 day')`)
  return child
}

const partitions = async (db: TestDatabase): Promise<string[]> =>
  (
    await db.query<{ name: string }>(`select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where c.relkind = 'r' and i.inhparent::regclass::text ~ '^sluice.job_'`)
  ).map(({ name }) => name)

test('any worker drops the days that are old enough; what did not succeed is kept longer', async () => {
  await using db = await testDatabase()
  const gone = [
    await dayAgo(db, 'job_history', 12),
    await dayAgo(db, 'job_dead', 100),
    await dayAgo(db, 'job_attempt', 100),
  ]
  const kept = [
    await dayAgo(db, 'job_history', 5),
    await dayAgo(db, 'job_dead', 12),
    await dayAgo(db, 'job_attempt', 12),
  ]
  await using _ = await startedWorker(db, [])
  await until('the old days are gone', async () => {
    const there = await partitions(db)
    return gone.every((name) => !there.includes(name))
  })
  expect(await partitions(db)).toEqual(expect.arrayContaining(kept))
})

test('how long is a matter of configuration', async () => {
  await using db = await testDatabase()
  const gone = [await dayAgo(db, 'job_history', 5), await dayAgo(db, 'job_dead', 12)]
  const kept = [await dayAgo(db, 'job_history', 2), await dayAgo(db, 'job_dead', 5)]
  await using _ = await startedWorker(db, [], {}, { history: { jobs: '2 days', deadJobs: '6 days' } })
  await until('the old days are gone', async () => {
    const there = await partitions(db)
    return gone.every((name) => !there.includes(name))
  })
  expect(await partitions(db)).toEqual(expect.arrayContaining(kept))
})

test('a day that somebody reads is left for the next time, and the worker goes on', async () => {
  await using db = await testDatabase()
  const noop = defineJob({ name: 'noop', perform: () => undefined })
  const old = await dayAgo(db, 'job_dead', 100)
  await using reader = await openClient(db.url)
  await reader.query(`begin; select from sluice.${old}`)
  const worker = await startedWorker(db, [noop])
  await worker.jobs.enqueue(noop)
  await worker.events.event('job.finished')
  expect(await partitions(db)).toContain(old)
  await worker.sluice.stop()
  await reader.query('commit')
  await using _ = await startedWorker(db, [noop])
  await until('it is gone', async () => !(await partitions(db)).includes(old))
})

test('a worker makes the days to come, so that an end always has a place', async () => {
  await using db = await testDatabase()
  const noop = defineJob({ name: 'noop', perform: () => undefined })
  for (const name of await partitions(db)) await db.query(`drop table sluice.${name}`)
  await using worker = await startedWorker(db, [noop])
  await worker.jobs.enqueue(noop)
  await worker.events.event('job.finished')
  const there = await partitions(db)
  for (const parent of parents) expect(there.filter((name) => name.startsWith(parent)).length).toBeGreaterThanOrEqual(7)
})

test('nor is one day of one table forgotten', async () => {
  await using db = await testDatabase()
  const before = await partitions(db)
  const last = before
    .filter((name) => name.startsWith('job_dead'))
    .toSorted()
    .at(-1)
  await db.query(`drop table sluice.${last}`)
  await using _ = await startedWorker(db, [])
  await until('it is there again', async () => (await partitions(db)).length === before.length)
})

test('nothing that has ended stays in the live table, whatever its end', async () => {
  await using db = await testDatabase()
  const ways = [
    defineJob({ name: 'fine', perform: () => undefined }),
    defineJob({ name: 'cancelled', perform: () => cancel('enough') }),
    defineJob({
      name: 'dead',
      retry: false,
      perform() {
        throw new Error('no')
      },
    }),
  ]
  await using worker = await startedWorker(db, ways)
  const ids = await Promise.all(ways.map(async (way) => (await worker.jobs.enqueue(way)).id))
  for (const id of ids) await worker.jobs.wait(id, { everyMs: 20 })
  expect(await db.value('select count(*)::int from sluice.job')).toBe(0)
  expect(await db.query('select outcome from sluice.job_dead order by outcome')).toEqual([
    { outcome: 'cancelled' },
    { outcome: 'dead' },
  ])
  expect(await db.value('select count(*)::int from sluice.job_history')).toBe(1)
})
