import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Claimer } from '../../src/store/jobs/claimer.ts'
import {
  groupOf,
  HintWindow,
  newJobs,
  nextWindow,
  nothingLeft,
  readHint,
  waitIn,
  type Hint,
} from '../../src/store/jobs/hints.ts'
import { defineJob } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { jobWorker, openClient, startedWorker } from '../support/jobs.ts'
import { until } from '../support/wait.ts'
import { openStore, takenBy, workerOf } from './store-by-hand.ts'

describe('what a notification says', () => {
  test.for([
    ['new jobs in some queues', '{"id": "7", "queues": ["mail"]}', { id: '7', queues: ['mail'] }],
    ['new jobs in any queue', '{"id": "7"}', { id: '7' }],
    ['nothing left', nothingLeft('7', 'us'), { id: '7', nothingLeftFor: 'us' }],
    ['something that is not ours', 'hello', { id: expect.any(String) }],
    ['JSON that is not ours', '{"id": 7}', { id: expect.any(String) }],
    ['nothing at all', '', { id: expect.any(String) }],
  ] as const)('%s', ([, payload, hint]) => {
    expect(readHint(payload)).toEqual(hint)
  })

  test('each hint has an id of its own', () => {
    expect(readHint(newJobs()).id).not.toBe(readHint(newJobs()).id)
    expect(readHint('').id).not.toBe(readHint('').id)
  })

  test('workers are of one group when they find the same jobs', () => {
    const group = groupOf({ schema: 'sluice', queues: ['mail'], jobs: ['a', 'b'] })
    expect(groupOf({ schema: 'sluice', queues: ['mail'], jobs: ['b', 'a'] })).toBe(group)
    expect(groupOf({ schema: 'other', queues: ['mail'], jobs: ['a', 'b'] })).not.toBe(group)
    expect(groupOf({ schema: 'sluice', queues: undefined, jobs: ['a', 'b'] })).not.toBe(group)
    expect(groupOf({ schema: 'sluice', queues: ['mail'], jobs: ['a'] })).not.toBe(group)
  })
})

describe('when a worker looks', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('at once while it finds what it looks for', () => {
    const look = vi.fn<() => void>()
    const window = new HintWindow(look, () => 0.25)
    window.open('1')
    window.looked({ found: true, tookMs: 1 })
    window.open('2')
    expect(look).toHaveBeenCalledTimes(2)
  })

  test('within its window after a look in vain, once for all hints', () => {
    const look = vi.fn<() => void>()
    const window = new HintWindow(look, () => 0.25)
    window.looked({ found: false, tookMs: 1 })
    window.open('1')
    window.open('2')
    expect(look).not.toHaveBeenCalled()
    vi.advanceTimersByTime(4)
    expect(look).toHaveBeenCalledTimes(1)
  })

  test('not when new jobs are in queues that it does not serve, or when workers of another group have looked', () => {
    const look = vi.fn<() => void>()
    const window = new HintWindow(look, () => 0.25)
    const mail = { group: 'us', serves: (queues?: readonly string[]) => queues?.includes('mail') ?? true }
    window.hear('{"id": "1", "queues": ["other"]}', mail)
    expect(look).not.toHaveBeenCalled()
    window.looked({ found: false, tookMs: 1 })
    window.hear('{"id": "2", "queues": ["other", "mail"]}', mail)
    window.hear(nothingLeft('2', 'them'), mail)
    vi.advanceTimersByTime(1_000)
    expect(look).toHaveBeenCalledTimes(1)
    window.hear('{"id": "3"}', mail)
    window.hear(nothingLeft('3', 'us'), mail)
    vi.advanceTimersByTime(1_000)
    expect(look).toHaveBeenCalledTimes(1)
  })

  test('not when another one has looked since the last hint, but when that was an earlier one', () => {
    const look = vi.fn<() => void>()
    const window = new HintWindow(look, () => 0.25)
    window.looked({ found: false, tookMs: 1 })
    window.open('1')
    window.close('1')
    vi.advanceTimersByTime(1_000)
    expect(look).not.toHaveBeenCalled()
    window.open('2')
    window.open('3')
    window.close('2')
    vi.advanceTimersByTime(4)
    expect(look).toHaveBeenCalledTimes(1)
  })
})

/** Numbers between 0 and 1 that are the same in every run. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

/** One job at a time for workers that all hear of it; a claim and its word take so long. Gives looks and waits. */
function simulate({ workers, jobs, claimMs }: { workers: number; jobs: number; claimMs: number }) {
  const random = seeded(7)
  const windows = Array.from({ length: workers }, () => 0)
  const runs = Array.from({ length: jobs }, () => {
    const waits = windows.map((windowMs) => waitIn(windowMs, random()))
    const first = Math.min(...waits)
    const winner = waits.indexOf(first)
    const lookers = waits.flatMap((waitMs, worker) => (waitMs <= first + claimMs ? [worker] : []))
    for (const worker of lookers)
      windows[worker] = nextWindow(windows[worker] ?? 0, { found: worker === winner, tookMs: claimMs })
    return { looks: lookers.length, waitMs: first }
  })
  const average = (part: typeof runs, of: 'looks' | 'waitMs'): number =>
    part.reduce((sum, run) => sum + run[of], 0) / part.length
  return {
    first: average(runs.slice(0, 20), 'looks'),
    looks: average(runs.slice(20), 'looks'),
    waitMs: average(runs.slice(20), 'waitMs'),
  }
}

const fleets = [1, 2, 5, 20, 80, 200].flatMap((workers) => [1, 3, 30].map((claimMs) => ({ workers, claimMs })))

test.for(fleets)('of $workers workers few look for one job, and soon, when a claim takes $claimMs ms', (fleet) => {
  const { first, looks, waitMs } = simulate({ ...fleet, jobs: 500 })
  expect(looks).toBeLessThanOrEqual(2.1)
  expect(waitMs).toBeLessThanOrEqual(4)
  // Those who have just started look together at first, and have learned it after a few jobs.
  expect(first).toBeLessThanOrEqual(1 + fleet.workers / 4)
})

const counted = defineJob({ name: 'counted', args: z.object({ n: z.number() }), perform: () => undefined })
/** So rare that nothing below is for the polls. */
const rarely = { poll: '10m' } as const

/** Has every call of the claim counted: those that find nothing leave no other trace. */
const countClaims = `create sequence public.claims;
  grant usage, select on sequence public.claims to public;
  do $$ begin execute replace(pg_get_functiondef('sluice.claim_jobs'::regproc), E'\nbegin\n',
    E'\nbegin\n  perform nextval(''public.claims'');\n'); end $$`

const otherWorkers = `insert into sluice.worker (id, host, pid, version, operations, jobs)
  select gen_random_uuid(), 'host', n, '1', '{}', '{counted}' from generate_series(1, $1::int) n`

const claimCalls = (db: TestDatabase): Promise<number> => db.value('select last_value::int from public.claims')

const listening = (db: TestDatabase): Promise<number> =>
  db.value(`select count(*)::int from pg_stat_activity
    where datname = current_database() and application_name = 'sluice listen' and state = 'idle'`)

test('a worker tells the others that it has left nothing, and stays asleep when another one has', async () => {
  await using db = await testDatabase()
  await db.query(countClaims)
  await db.query(otherWorkers, [2])
  await using worker = await startedWorker(db, [counted], rarely)
  await until('it listens', async () => (await listening(db)) === 1)
  await using ear = await openClient(db.url)
  const heard: Hint[] = []
  ear.on('notification', ({ payload = '' }) => void heard.push(readHint(payload)))
  await ear.query('listen sluice_jobs')
  const words = (): { id: string; nothingLeftFor: string }[] =>
    heard.flatMap((hint) => ('nothingLeftFor' in hint ? [hint] : []))

  // A job that it finds by chance, before it hears of it, is not worth a word.
  let jobs = 0
  await until('it has told that nothing is left', async () => {
    await db.query(`select sluice.enqueue('{"job": "counted", "args": {"n": 1}}', notify => true)`)
    await worker.events.event('job.finished', { nth: (jobs += 1) })
    await sleep(120)
    return words().length > 0
  })
  const { id, nothingLeftFor: group } = words()[0] ?? expect.unreachable()
  expect(heard.filter((hint) => 'queues' in hint).map((hint) => hint.id)).toContain(id)

  // Looks in vain make its window long. A look tells only if it began with the first job, which is not every look.
  for (let looks = 0; looks < 6; looks++) {
    await until('it has looked in vain', async () => {
      const vain = newJobs()
      await db.query(`select pg_notify('sluice_jobs', $1)`, [vain])
      await sleep(120)
      return words().some((word) => word.id === readHint(vain).id)
    })
  }
  const before = await claimCalls(db)
  await db.query(`select pg_notify('sluice_jobs', $1), pg_notify('sluice_jobs', $2)`, [
    JSON.stringify({ id: 'taken' }),
    nothingLeft('taken', group),
  ])
  await sleep(300)
  expect(await claimCalls(db)).toBe(before)
})

test('a notification names the queues of new jobs, as many as fit in', async () => {
  await using db = await testDatabase()
  await using ear = await openClient(db.url)
  const heard: string[] = []
  ear.on('notification', ({ payload = '' }) => void heard.push(payload))
  await ear.query('listen sluice_jobs')
  await using other = jobWorker(db, [counted])
  await other.jobs.enqueue(counted, { n: 1 }, { queue: 'mail' })
  const into = (queues: string[]): Promise<unknown> => {
    const jobs = queues.map((queue) => ({ job: 'counted', queue, args: { n: 2 } }))
    return db.query('select sluice.enqueue($1, notify => true)', [JSON.stringify(jobs)])
  }
  await into(['b', 'a', 'b'])
  await into(Array.from({ length: 200 }, (_, n) => `q${n}-${'x'.repeat(60)}`))
  await until('all are heard', () => heard.length === 3)
  expect(heard.map(readHint)).toEqual([
    { id: expect.any(String), queues: ['mail'] },
    { id: expect.any(String), queues: ['a', 'b'] },
    { id: expect.any(String) },
  ])
})

test('a look tells the others whether it has left anything, if it knows', async () => {
  await using db = await testDatabase()
  await using client = jobWorker(db, [counted])
  await using database = await openStore(db)
  const told: Hint[] = []
  const opened = async (workers: number): Promise<Claimer> => {
    await db.query('delete from sluice.worker')
    await db.query(otherWorkers, [workers])
    const claimer = new Claimer(database, workerOf([counted]))
    await claimer.open()
    claimer.sendOn({
      schema: 'sluice',
      query(text, values) {
        if (text.includes('pg_notify')) told.push(readHint(String(values[0])))
        return database.control.query(text, values)
      },
    })
    return claimer
  }
  const order = { limit: 2, free: 2, suspects: 1, hinted: true }
  const look = async (claimer: Claimer): Promise<string> => (await takenBy(claimer, order)).left
  const two = await opened(2)
  await client.jobs.enqueueMany(counted, [{ n: 1 }, { n: 2 }, { n: 3 }])

  expect(await look(two)).toBe('more')
  expect(await look(two)).toBe('nothing')
  // It began to look above what it has seen, and looked from the first job on a moment ago.
  expect(await look(two)).toBe('unknown')

  two.tellOthers('unknown', '7')
  two.tellOthers('more', '8')
  two.tellOthers('nothing', '9')
  expect(told).toEqual([{ id: expect.any(String) }, { id: '9', nothingLeftFor: two.group }])
  expect(told[0]?.id).not.toBe('8')
  // A worker that is alone has nobody to tell.
  const one = await opened(1)
  one.tellOthers('nothing', '10')
  expect(told).toHaveLength(2)
})

test('a worker serves the queues that it is given, and ours', async () => {
  await using db = await testDatabase()
  await using database = await openStore(db)
  const mail = new Claimer(database, workerOf([counted], { weights: { mail: 1 } }))
  const all = new Claimer(database, workerOf([counted]))
  expect([['mail', 'other'], ['other'], ['sluice'], undefined].map(mail.serves)).toEqual([true, false, true, true])
  expect([['other'], undefined].map(all.serves)).toEqual([true, true])
})
