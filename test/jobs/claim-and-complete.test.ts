import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { claimedJobs, drained, jobWorker, liveJobs, openClient, startedWorker } from '../support/jobs.ts'
import { isWaiting } from '../support/locks.ts'
import { until } from '../support/wait.ts'

const numbered = z.object({ n: z.number() })
const nothing = defineJob({ name: 'nothing', args: numbered, perform: () => undefined })

test('two workers share two thousand jobs, and none runs twice', async () => {
  await using db = await testDatabase()
  const runs = new Map<number, string[]>()
  const seen = new Set<string>()
  // Whoever comes first waits for the other, so that neither can have taken all before the other looks.
  const share = (who: string) =>
    defineJob({
      name: 'share',
      args: numbered,
      perform: async ({ job }) => {
        runs.set(job.id, [...(runs.get(job.id) ?? []), who])
        seen.add(who)
        await until('both workers have work', () => seen.size === 2)
      },
    })
  await using ada = jobWorker(db, [share('ada')], { concurrency: 20 })
  await using bob = jobWorker(db, [share('bob')], { concurrency: 20 })
  await Promise.all([ada.sluice.start(), bob.sluice.start()])
  await ada.jobs.enqueueMany(
    share(''),
    Array.from({ length: 2_000 }, (_, n) => ({ n })),
  )
  await drained(db)
  expect(runs.size).toBe(2_000)
  expect([...runs.values()].filter((who) => who.length !== 1)).toEqual([])
  expect(new Set([...runs.values()].flat())).toEqual(new Set(['ada', 'bob']))
  expect(await db.value('select count(distinct id)::int from sluice.job_history')).toBe(2_000)
  expect(await db.value('select count(*)::int from sluice.job_history')).toBe(2_000)
  await until('no claim is left', async () => (await db.value('select count(*)::int from sluice.job_claim')) === 0)
})

test('what ends leaves the live table and is in history, with its times and its attempt', async () => {
  await using db = await testDatabase()
  await using worker = await startedWorker(db, [nothing])
  const { id } = await worker.jobs.enqueue(nothing, { n: 1 }, { queue: 'side' })
  const { waitMs, runMs } = await worker.events.event('job.finished')
  expect(await liveJobs(db)).toBe(0)
  expect(await worker.jobs.get(id)).toMatchObject({ state: 'succeeded', queue: 'side', attempt: 1, waitMs, runMs })
})

test('a job that was committed late, with an id behind those that ran, is found', async () => {
  await using db = await testDatabase()
  await using worker = await startedWorker(db, [nothing])
  await using slow = await openClient(db.workerUrl)
  await slow.query('begin')
  const late = await worker.jobs.enqueue(nothing, { n: 0 }, { tx: slow })
  await worker.jobs.enqueueMany(
    nothing,
    Array.from({ length: 200 }, (_, n) => ({ n })),
  )
  await worker.events.event('job.finished', { nth: 200 })
  await slow.query('commit')
  expect(await worker.events.event('job.finished', { nth: 201 })).toMatchObject({ jobId: late.id })
  expect(late.id).toBe(await db.value('select min(id)::int from sluice.job_history'))
})

test('after a crash of the server, what a worker remembers of claims counts for nothing', async () => {
  await using db = await testDatabase()
  await using worker = jobWorker(db, [nothing])
  await using client = await openClient(db.workerUrl)
  const claim = async (id: number, { life, floor }: { life: string | null; floor: string }) => {
    const { rows } = await client.query<{ jobs: string | null; life: string; floor: string }>(
      `select r.jobs, r.life, r.claims_floor as floor
       from sluice.job_class c, sluice.queue q, sluice.claim_jobs($1, gen_random_uuid(), array[c.name], array[q.id],
         array[q.id], '{1}', '{0}', 10, 10, 1, $2, $3) r
       where q.name = 'default'`,
      [id, life, floor],
    )
    return rows[0] ?? expect.unreachable()
  }
  await worker.jobs.enqueue(nothing, { n: 1 })
  const first = await claim(1, { life: null, floor: '0' })
  await db.query('delete from sluice.job; delete from sluice.job_claim')
  await worker.jobs.enqueue(nothing, { n: 2 })
  const remembered = await claim(2, first)
  expect(remembered).toMatchObject({ life: first.life, floor: '2' })
  await db.query('delete from sluice.job; delete from sluice.job_claim')
  // What a crash does to the two: the one is empty, the other gives out again what was not on disk.
  await db.query('truncate sluice.server_life; alter sequence sluice.job_claim_seq_seq restart')
  await worker.jobs.enqueue(nothing, { n: 3 })
  const other = await claim(3, { life: null, floor: '0' })
  expect(other.jobs).not.toBeNull()
  expect(other.life).not.toBe(first.life)
  expect((await claim(4, remembered)).jobs).toBeNull()
})

test('jobs of unknown names stay queued and are shown as parked; those behind them run', async () => {
  await using db = await testDatabase()
  const stranger = defineJob({ name: 'stranger', args: numbered, perform: () => undefined })
  await using worker = await startedWorker(db, [nothing])
  const strangers = await worker.jobs.enqueueMany(
    stranger,
    Array.from({ length: 300 }, (_, n) => ({ n })),
    { priority: 'high' },
  )
  await worker.jobs.enqueueMany(
    nothing,
    Array.from({ length: 20 }, (_, n) => ({ n })),
  )
  await worker.events.event('job.finished', { nth: 20 })
  expect(await liveJobs(db)).toBe(300)
  const { id } = strangers[0] ?? { id: 0 }
  expect(await worker.jobs.get(id)).toMatchObject({ state: 'waiting', parked: true, attempt: 0 })
  expect(await worker.sluice.queues.list()).toContainEqual(
    expect.objectContaining({ name: 'default', waiting: 300, parked: 300 }),
  )
  await using friend = await startedWorker(db, [stranger])
  await friend.events.event('job.finished', { nth: 300 })
})

test('a scheduled job that is due is claimed where it stands, without a write that readies it', async () => {
  await using db = await testDatabase()
  const states: unknown[] = []
  const look = defineJob({
    name: 'look',
    async perform({ job }) {
      states.push(await db.query('select state, attempt from sluice.job where id = $1', [job.id]))
    },
  })
  await using worker = await startedWorker(db, [look])
  await db.query(`create table versions (state smallint)`)
  await db.query(`create function log_version() returns trigger language plpgsql security definer as $$ begin
    insert into public.versions values (new.state); return new; end $$`)
  await db.query(`create trigger log_version after update on sluice.job for each row execute function log_version()`)
  await worker.jobs.enqueue(look, undefined, { in: '500ms' })
  await worker.events.event('job.finished')
  expect(states).toEqual([[{ state: 2, attempt: 1 }]])
  // The claim is the only update that it ever had.
  expect(await db.query('select state from versions')).toEqual([{ state: 2 }])
})

test('a process fetches hardly ahead when jobs are slow', async () => {
  await using db = await testDatabase()
  const slow = defineJob({
    name: 'slow',
    args: numbered,
    perform: () => new Promise<void>((resolve) => setTimeout(resolve, 120)),
  })
  await using worker = jobWorker(db, [slow], { concurrency: 10 })
  await worker.jobs.enqueueMany(
    slow,
    Array.from({ length: 300 }, (_, n) => ({ n })),
  )
  await worker.sluice.start()
  // The first look is blind and fetches a hundred ahead; those after it know that the jobs are slow.
  await worker.events.event('job.finished', { nth: 150 })
  expect(await claimedJobs(db)).toBeLessThanOrEqual(20)
})

test('a worker knows a name that another process makes at the very same moment', async () => {
  await using db = await testDatabase()
  await using other = await openClient(db.url)
  await other.query('begin')
  await other.query(`insert into sluice.job_class (name, defaults)
    values ('nothing', '{"queue": "default", "priority": "normal"}')`)
  await using worker = await startedWorker(db, [nothing], { poll: '1m' })
  await until('the worker waits for it', () => isWaiting(db))
  await other.query('commit')
  await worker.jobs.enqueue(nothing, { n: 1 })
  await worker.events.event('job.finished')
})
