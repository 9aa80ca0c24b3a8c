import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { isClaimed, jobProfile, jobWorker, liveJobs, shortLease, startedWorker, withLedger } from '../support/jobs.ts'
import { until } from '../support/wait.ts'
import { spawnWorker } from '../support/worker.ts'

const numbered = z.object({ n: z.number() })
const many = (length: number): { n: number }[] => Array.from({ length }, (_, n) => ({ n }))

/** What a worker must not leave behind. */
const leftovers = (db: TestDatabase): Promise<object[]> =>
  db.query(`select (select count(*)::int from sluice.job j where ${isClaimed}) as claimed,
    (select count(*)::int from sluice.job_claim) as claims, (select count(*)::int from sluice.worker) as workers`)
const clean = [{ claimed: 0, claims: 0, workers: 0 }]

test('running jobs may end, fetched ones go back, and nothing stays claimed', async () => {
  await using db = await testDatabase()
  const short = defineJob({ name: 'short', args: numbered, perform: () => sleep(300) })
  await using worker = jobWorker(db, [short], { concurrency: 3 })
  await worker.jobs.enqueueMany(short, many(50))
  await worker.sluice.start()
  await worker.events.event('job.started', { nth: 3 })
  await worker.sluice.stop()
  expect(worker.events.count('job.finished')).toBe(worker.events.count('job.started'))
  expect(worker.events.count('job.released')).toBeGreaterThan(10)
  expect(await leftovers(db)).toEqual(clean)
  expect(await liveJobs(db)).toBe(50 - worker.events.count('job.finished'))
  // Released is no attempt, no failure, no crash.
  expect(await db.value('select count(*)::int from sluice.job where attempt > 0 or crashes > 0')).toBe(0)
  expect(await db.value('select count(*)::int from sluice.job_attempt')).toBe(0)
})

test('a handler that does not end is told by its signal, and one that hangs is left behind', async () => {
  await using db = await withLedger(await testDatabase())
  const reasons: string[] = []
  const listening = defineJob({
    name: 'listening',
    perform: ({ signal }) =>
      new Promise<void>((_, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push((signal.reason as Error).name)
          reject(new Error('stopped half way'))
        })
      }),
  })
  const deaf = defineJob({ name: 'deaf', perform: () => new Promise<void>(() => undefined) })
  const deafInside = defineJob({
    name: 'deaf-inside',
    transaction: true,
    async perform({ tx }) {
      await tx.query(`insert into ledger (note) values ('never')`, [])
      await new Promise<void>(() => undefined)
    },
  })
  const jobs = [listening, deaf, deafInside]
  await using worker = await startedWorker(
    db,
    jobs,
    {},
    { worker: { stop: '300ms' }, timeouts: { idleInTransaction: '1m' } },
  )
  for (const job of jobs) await worker.jobs.enqueue(job)
  await worker.events.event('job.started', { nth: 3 })
  await worker.sluice.stop()
  expect(reasons).toEqual(['WorkerStopping'])
  expect(worker.events.count('job.released')).toBe(3)
  expect(await leftovers(db)).toEqual(clean)
  expect(await db.value('select count(*)::int from ledger')).toBe(0)
  expect(await db.query('select attempt, crashes from sluice.job')).toEqual(
    jobs.map(() => ({ attempt: 0, crashes: 0 })),
  )
})

test('a released job runs again at once in another worker, with its key and its place', async () => {
  await using db = await testDatabase()
  const order: number[] = []
  let hang = true
  const keyed = defineJob({
    name: 'keyed',
    args: numbered,
    concurrency: { limit: 1, key: () => 'k' },
    async perform({ args, signal }) {
      if (hang) await sleep(60_000, undefined, { signal })
      order.push(args.n)
    },
  })
  const first = await startedWorker(db, [keyed], {}, { worker: { stop: '100ms' } })
  await first.jobs.enqueueMany(keyed, many(3))
  await first.events.event('job.started')
  await first.sluice.stop()
  expect(await leftovers(db)).toEqual(clean)
  hang = false
  await using second = await startedWorker(db, [keyed])
  await second.events.event('job.finished', { nth: 3 })
  expect(order).toEqual([0, 1, 2])
  expect(second.events.all.filter(({ event }) => event === 'job.started')[0]?.payload).toMatchObject({ attempt: 1 })
})

test('stopping twice, or without having started, is harmless', async () => {
  await using db = await testDatabase()
  const worker = await startedWorker(db, [])
  await Promise.all([worker.sluice.stop(), worker.sluice.stop()])
  await worker.sluice.stop()
  await jobWorker(db, []).sluice.stop()
  expect(await leftovers(db)).toEqual(clean)
})

test.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('%s ends a worker process in order, and it exits with %d', async (signal, code) => {
  await using db = await testDatabase()
  const jobs = `const jobs = [defineJob({ name: 'slow', retry: false,
    perform: ({ signal }) => new Promise((_, no) => signal.addEventListener('abort', () => no(signal.reason))) })]`
  const profile = jobProfile({}, { stop: '300ms' })
  await using worker = await spawnWorker({ url: db.workerUrl, jobs, profile })
  await worker.events.event('worker.started')
  await db.query(`select sluice.enqueue((select json_agg(json_build_object('job', 'slow'))::text
    from generate_series(1, 30)))`)
  await worker.events.event('job.started', { nth: 5 })
  worker.kill(signal)
  expect(await worker.exited).toBe(code)
  expect(await leftovers(db)).toEqual(clean)
  expect(await db.value('select count(*)::int from sluice.job where attempt = 0')).toBe(30)
})

test('a second signal forces a worker out that still waits for its handlers', async () => {
  await using db = await testDatabase()
  const jobs = `const jobs = [defineJob({ name: 'deaf', perform: () => new Promise(() => undefined) })]`
  await using worker = await spawnWorker({
    url: db.workerUrl,
    jobs,
    profile: jobProfile({}, { ...shortLease, stop: '10m' }),
  })
  await worker.events.event('worker.started')
  await db.query(`select sluice.enqueue('{"job": "deaf"}')`)
  await worker.events.event('job.started')
  worker.kill('SIGTERM')
  await until('it says that it stops', () => worker.stderr.some((line) => line.includes('Once more to end at once')))
  expect(worker.process.exitCode).toBeNull()
  // An echo of the first one does not count, so it may take another.
  await until('it is gone', () => {
    worker.kill('SIGTERM')
    return worker.process.exitCode !== null
  })
  expect(await worker.exited).toBe(143)
  // What it could not give back is freed by the next worker once its lease is over.
  await using next = await startedWorker(db, [], {}, { worker: shortLease })
  expect(await next.events.event('job.rescued')).toMatchObject({ name: 'deaf' })
  await until('nothing is claimed', async () => (await db.value('select count(*)::int from sluice.job_claim')) === 0)
})
