import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import {
  claimedJobs,
  claimForTheDead,
  drained,
  jobProfile,
  jobWorker,
  liveJobs,
  shortLease,
  startedWorker,
  withLedger,
} from '../support/jobs.ts'
import { patiently } from '../support/patience.ts'
import { until } from '../support/wait.ts'
import { spawnWorker } from '../support/worker.ts'

const numbered = z.object({ n: z.number() })
const many = (length: number): { n: number }[] => Array.from({ length }, (_, n) => ({ n }))
const anyArgs = `{ '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }`

const attemptsOf = (db: TestDatabase, verdict: string): Promise<number> =>
  db.value('select count(*)::int from sluice.job_attempt where verdict = $1', [verdict])

test('all jobs of a killed worker, running and fetched, run again, and no key is lost', async () => {
  await using db = await testDatabase()
  const runs: number[] = []
  const held = defineJob({
    name: 'held',
    args: numbered,
    unique: { until: 'success' },
    perform: ({ args }) => void runs.push(args.n),
  })
  await using worker = jobWorker(db, [held], {}, { worker: shortLease })
  const enqueued = await worker.jobs.enqueueMany(held, many(20))
  const jobs = `const jobs = [defineJob({ name: 'held', args: ${anyArgs}, unique: {},
    perform: () => new Promise(() => undefined) })]`
  await using doomed = await spawnWorker({
    url: db.workerUrl,
    jobs,
    profile: jobProfile({ concurrency: 2 }, shortLease),
  })
  await doomed.events.event('job.started', { nth: 2 })
  expect(await claimedJobs(db)).toBe(20)
  doomed.kill('SIGKILL')
  await doomed.exited
  // Until it is done, whoever wants the same again is told that it is there.
  expect(await worker.jobs.enqueue(held, { n: 3 })).toEqual({ id: enqueued[3]?.id, duplicate: true })
  await worker.sluice.start()
  const rescued = await worker.events.event('job.rescued')
  expect(rescued).toMatchObject({ name: 'held', crashes: 1 })
  await drained(db)
  expect(runs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n))
  expect(await attemptsOf(db, 'crash')).toBe(20)
  const { attempts, attempt } = await worker.jobs.get(enqueued[0]?.id ?? 0)
  expect(attempt).toBe(2)
  expect(attempts).toMatchObject([{ attempt: 1, verdict: 'crash', workerId: rescued.workerId }])
  expect(await db.value('select count(*)::int from sluice.job_lock')).toBe(0)
  expect(await worker.jobs.enqueue(held, { n: 3 })).toMatchObject({ duplicate: false })
})

test.each([
  ['at once', 0],
  ['with a delay', 0.3],
])('a job that kills its worker three times is isolated alone, also when ends are written %s', async (_, delay) => {
  await using db = await testDatabase()
  // What has ended and is not written down when a worker dies is claimed in the eyes of the others.
  await db.query(`create function slow() returns trigger language plpgsql as
    $$ begin perform pg_sleep(${delay}); return null; end $$`)
  await db.query('create trigger slow before insert on sluice.job_history execute function slow()')
  const jobs = `const jobs = [
    defineJob({ name: 'poison', perform: () => process.kill(process.pid, 'SIGKILL') }),
    defineJob({ name: 'innocent', args: ${anyArgs}, perform: () => new Promise((done) => setTimeout(done, 10)) })]`
  const innocent = defineJob({ name: 'innocent', args: numbered, perform: () => undefined })
  const poison = defineJob({ name: 'poison', unique: {}, perform: () => undefined })
  await using idle = jobWorker(db, [])
  await idle.jobs.enqueueMany(innocent, many(15))
  const { id } = await idle.jobs.enqueue(poison)
  await idle.jobs.enqueueMany(innocent, many(15))
  let deaths = 0
  for (; (await liveJobs(db)) > 0 && deaths < 8;) {
    await using worker = await spawnWorker({ url: db.workerUrl, jobs, profile: jobProfile({}, shortLease) })
    await until(
      'it has died or done all',
      async () => worker.process.signalCode !== null || (await liveJobs(db)) === 0,
      60_000,
    )
    if (worker.process.signalCode !== null) deaths += 1
  }
  expect(deaths).toBe(3)
  expect(await idle.jobs.get(id)).toMatchObject({
    state: 'quarantined',
    crashes: 3,
    reason: 'its worker died 3 times while it ran',
    attempts: [{ verdict: 'crash' }, { verdict: 'crash' }, { verdict: 'crash' }],
  })
  expect(await db.value('select count(*)::int from sluice.job_history')).toBe(30)
  expect(await db.value('select count(*)::int from sluice.job_dead')).toBe(1)
  expect(await db.value('select count(*)::int from sluice.job_lock')).toBe(0)
  // A person may give it another chance; it begins anew.
  const harmless = defineJob({ name: 'poison', perform: () => undefined })
  await using mended = await startedWorker(db, [harmless])
  await mended.jobs.retry(id)
  expect(await mended.events.event('job.finished')).toMatchObject({ jobId: id, attempt: 1 })
})

test('many jobs of a dead worker are run again one after the other without long waits', async () => {
  await using db = await testDatabase()
  const noop = defineJob({ name: 'noop', args: numbered, perform: () => undefined })
  await using worker = jobWorker(db, [noop], { poll: '10s' })
  await worker.jobs.enqueueMany(noop, many(200))
  await claimForTheDead(db)
  await worker.sluice.start()
  // One look for each would take half an hour at this pace.
  await worker.events.event('job.finished', { nth: 200 })
})

test('an event loop that is blocked for longer than the lease is no crash', async () => {
  await using db = await testDatabase()
  // Long enough for a renewal on a busy machine: only the thread that renews keeps this worker alive.
  const lease = patiently(4_000)
  const jobs = `const jobs = [defineJob({ name: 'block', perform() {
    const end = Date.now() + ${lease * 2}
    while (Date.now() < end);
  } })]`
  const worker = { lease, noProgress: lease * 20 } as const
  await using observer = await startedWorker(db, [], {}, { worker })
  await using blocked = await spawnWorker({ url: db.workerUrl, jobs, profile: jobProfile({}, worker) })
  const block = defineJob({ name: 'block', perform: () => undefined })
  const { id } = await observer.jobs.enqueue(block)
  expect(await observer.jobs.wait(id)).toMatchObject({ state: 'succeeded', attempt: 1 })
  expect(observer.events.count('job.rescued')).toBe(0)
  expect((await observer.jobs.get(id)).attempts).toEqual([])
  expect(blocked.events.count('job.lost')).toBe(0)
})

test('an event loop that never turns again loses its jobs after the no-progress limit', async () => {
  await using db = await testDatabase()
  const jobs = `const jobs = [defineJob({ name: 'stuck', perform() { while (true); } })]`
  const worker = { ...shortLease, noProgress: '3s' } as const
  await using stuck = await spawnWorker({ url: db.workerUrl, jobs, profile: jobProfile({}, worker) })
  const mended = defineJob({ name: 'stuck', perform: () => undefined })
  await using heir = jobWorker(db, [mended], {}, { worker: shortLease })
  const { id } = await heir.jobs.enqueue(mended)
  await stuck.events.event('job.started')
  await heir.sluice.start()
  expect(await heir.events.event('job.finished')).toMatchObject({ jobId: id, attempt: 2 })
})

/** Plain and transactional jobs that take a while; the latter write down who did them. */
const slowJobs = (who: string): string => `
const pause = () => new Promise((done) => setTimeout(done, 150))
const jobs = [
  defineJob({ name: 'plain', args: ${anyArgs}, perform: pause }),
  defineJob({ name: 'inside', args: ${anyArgs}, transaction: true, async perform({ tx, args }) {
    await tx.query('insert into ledger (note) values ($1)', [args.n + ' ${who}'])
    await pause()
  } })]`

test('a worker that was stopped for longer than its lease completes nothing when it wakes', async () => {
  await using db = await withLedger(await testDatabase())
  const plain = defineJob({ name: 'plain', args: numbered, perform: () => undefined })
  const inside = defineJob({ name: 'inside', args: numbered, perform: () => undefined })
  await using idle = jobWorker(db, [])
  await idle.jobs.enqueueMany(inside, many(30))
  await idle.jobs.enqueueMany(plain, many(30))
  const profile = jobProfile({ concurrency: 6 }, shortLease)
  await using sleeper = await spawnWorker({ url: db.workerUrl, jobs: slowJobs('sleeper'), profile })
  await sleeper.events.event('job.finished', { nth: 8 })
  sleeper.kill('SIGSTOP')
  await using heir = await spawnWorker({ url: db.workerUrl, jobs: slowJobs('heir'), profile })
  await heir.events.event('job.rescued')
  await drained(db)
  sleeper.kill('SIGCONT')
  await sleeper.events.event('job.lost')
  // Everything that the sleeper still held is refused, and then it goes on to live.
  await until('the sleeper has let go of all', async () => {
    const started = sleeper.events.count('job.started')
    return started === sleeper.events.count('job.finished') + sleeper.events.count('job.lost')
  })
  const effects = `select split_part(note, ' ', 1) as n, count(*)::int from ledger group by 1 having count(*) <> 1`
  expect(await db.query(effects)).toEqual([])
  expect(await db.value('select count(*)::int from ledger')).toBe(30)
  expect(await db.value('select count(*)::int from sluice.job_history')).toBe(60)
  expect(await db.value('select count(distinct id)::int from sluice.job_history')).toBe(60)
  expect(await db.value('select count(*)::int from sluice.job_dead')).toBe(0)
  await idle.jobs.enqueueMany(plain, many(20))
  await drained(db)
})

test('a worker that wakes too late can neither complete, retry nor cancel what another one runs', async () => {
  await using db = await testDatabase()
  const names = ['completes', 'throws', 'cancels', 'snoozes']
  const jobs = `
const ways = { completes: () => undefined, cancels: () => cancel('late'), snoozes: () => snooze('1h'),
  throws() { throw new Error('late') } }
const jobs = Object.entries(ways).map(([name, way]) => defineJob({ name, async perform() {
  await new Promise((done) => setTimeout(done, 3_000))
  return way()
} }))`
  await using sleeper = await spawnWorker({ url: db.workerUrl, jobs, profile: jobProfile({}, shortLease) })
  const release: (() => void)[] = []
  const held = names.map((name) =>
    defineJob({ name, perform: () => new Promise<void>((resolve) => void release.push(resolve)) }),
  )
  const heirs = held.map((definition) => jobWorker(db, [definition], {}, { worker: { lease: '3s' } }))
  for (const [at, definition] of held.entries()) await heirs[at]?.jobs.enqueue(definition)
  await sleeper.events.event('job.started', { nth: 4 })
  sleeper.kill('SIGSTOP')
  for (const { sluice } of heirs) await sluice.start()
  await until('all were taken over', () => release.length === 4)
  sleeper.kill('SIGCONT')
  await sleeper.events.event('job.lost', { nth: 4 })
  expect(await db.query('select attempt, claim_id is not null as claimed from sluice.job')).toEqual(
    names.map(() => ({ attempt: 2, claimed: true })),
  )
  for (const finish of release) finish()
  await drained(db)
  expect(await db.value('select count(*)::int from sluice.job_history where attempt = 2')).toBe(4)
  expect(await db.value('select count(*)::int from sluice.job_dead')).toBe(0)
  expect(await attemptsOf(db, 'crash')).toBe(4)
  expect(await db.value('select count(*)::int from sluice.job_attempt')).toBe(4)
  await Promise.all(heirs.map(({ sluice }) => sluice.stop()))
})

test('a worker that cannot reach the database for a while keeps what it has done, and completes it', async () => {
  await using db = await testDatabase()
  const upstream = new URL(db.url)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  let runs = 0
  const counted = defineJob({
    name: 'counted',
    args: numbered,
    async perform() {
      runs += 1
      await sleep(30)
    },
  })
  await using worker = await startedWorker(db, [counted], { url: proxy.url(db.workerUrl) })
  const lost = proxy.dropAnswerTo(/sluice\.complete_jobs/, { times: 3, ending: 'rst' })
  await using idle = jobWorker(db, [])
  await idle.jobs.enqueueMany(counted, many(60))
  await drained(db)
  expect(lost.hits).toBe(3)
  // History tells what was written before the answer was lost: nothing runs twice, nothing is taken for lost.
  expect(runs).toBe(60)
  await worker.events.event('job.finished', { nth: 60 })
  expect(worker.events.count('job.lost')).toBe(0)
})

test('a worker that dies between two thousands of endings keeps its claim on the rest', async () => {
  await using db = await testDatabase()
  const noop = defineJob({ name: 'noop', args: numbered, perform: () => undefined })
  await using heir = jobWorker(db, [noop], { concurrency: 50 }, { worker: shortLease })
  await heir.jobs.enqueueMany(noop, many(1_500))
  // The first thousand endings are written; whoever writes more waits.
  await db.query(`create function wait_after_a_thousand() returns trigger language plpgsql security definer as $$ begin
    if (select count(*) from sluice.job_history) >= 1000 then perform pg_sleep(600); end if; return null; end $$`)
  await db.query(`create trigger wait before insert on sluice.job_history execute function wait_after_a_thousand()`)
  const jobs = `let begun = 0, open
    const all = new Promise((resolve) => { open = resolve })
    const jobs = [defineJob({ name: 'noop', args: ${anyArgs}, perform: () => {
      if (++begun === 1500) open()
      return all
    } })]`
  const profile = jobProfile({ concurrency: 1_500 }, shortLease)
  await using doomed = await spawnWorker({ url: db.workerUrl, jobs, profile })
  const waiting = `select pid from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`
  await until('the rest waits to be written', async () => (await db.query(waiting)).length === 1)
  doomed.kill('SIGKILL')
  await doomed.exited
  await db.query(`select pg_terminate_backend(pid) from (${waiting}) w`)
  await db.query('drop trigger if exists wait on sluice.job_history')
  // Without it, another could have begun what this one was just ending.
  expect(await claimedJobs(db)).toBe(500)
  await heir.sluice.start()
  await drained(db)
  expect(await db.value('select count(*)::int from sluice.job_history')).toBe(1_500)
})
