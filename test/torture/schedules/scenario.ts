import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { spawnWorker } from '../../support/worker.ts'
import { until } from '../../support/wait.ts'
import { startFaultProxy } from '../../support/fault-proxy/index.ts'
import { ClockFleet } from './fleet.ts'
import type { TickHarm } from './harms.ts'

/** What became of a schedule that is due every second. */
export interface HarmOutcome {
  /** Harms that really hit. */
  hits: number
  /** Of those, while the worker had a transaction open. */
  inTransaction: number
  /** Seconds from the first tick to the last. */
  seconds: number
  rows: number
  jobs: number
  /** Rows whose job is not there, or is that of another tick. */
  wrongJobs: number
  /** Workers that have settled a tick. */
  settlers: number
  elapsedMs: number
}

export interface HarmPlan {
  clusterUrl: string
  times: number
  processes: number
}

/** Harms workers around ticks, again and again. Their clocks differ by 20 minutes. */
export async function harmAtTicks(harm: TickHarm, plan: HarmPlan): Promise<HarmOutcome> {
  const began = Date.now()
  const upstream = new URL(plan.clusterUrl)
  await using proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
  await using db = await testDatabase(plan.clusterUrl)
  await using fleet = new ClockFleet(db, (url) => proxy.url(url))
  await fleet.start(plan.processes)
  let [hits, inTransaction] = [0, 0]
  for (let nth = 0; nth < plan.times; nth++) {
    const hit = await harm({ db, fleet, proxy, nth })
    if (hit !== 'missed') hits += 1
    if (hit === 'in transaction') inTransaction += 1
  }
  const last = await db.value<Date>('select clock_timestamp()')
  await until('all ticks up to the last harm are settled', () => isSettledTo(db, last))
  await fleet.stop()
  return {
    hits,
    inTransaction,
    ...(await judge(db)),
    settlers: fleet.settledBy.filter((n) => n > 0).length,
    elapsedMs: Date.now() - began,
  }
}

async function isSettledTo(db: TestDatabase, moment: Date): Promise<boolean> {
  const to = await db.value<Date | null>(`select considered_to from sluice.schedule`)
  return to !== null && to >= moment
}

type Judgement = Pick<HarmOutcome, 'seconds' | 'rows' | 'jobs' | 'wrongJobs'>

async function judge(db: TestDatabase): Promise<Judgement> {
  const [row] = await db.query<Judgement>(
    `with tick as (
       select t.tick, t.job_id from sluice.schedule_tick t where t.outcome = 'started'
     ), job as (
       select id, args from sluice.job union all select id, null from sluice.job_history
       union all select id, args from sluice.job_dead
     )
     select (extract(epoch from max(tick) - min(tick)) + 1)::int as seconds, count(*)::int as rows,
       (select count(*)::int from job) as jobs,
       (select count(*)::int from tick t where not exists (
          select from job j where j.id = t.job_id and (j.args is null or (j.args ->> 'tick')::timestamptz = t.tick))
          or (select count(*) from tick o where o.job_id = t.job_id) > 1) as "wrongJobs"
     from tick`,
  )
  if (row === undefined) throw new Error('there is no tick')
  return row
}

/** One row and one job for each second, and each the other's. */
export function isExact({ seconds, rows, jobs, wrongJobs }: Judgement): boolean {
  return rows === seconds && jobs === rows && wrongJobs === 0
}

/** What a worker made of a gap, by policy. */
export type GapOutcome = Record<string, { rows: number; started: number; ticks: number }>

/** What there is to come of gaps of an hour (thirty ticks) and thirty days; what is passed over counts up to a thousand. */
export const wantedAfterGaps: GapOutcome = {
  'hour-skip': { rows: 1, started: 0, ticks: 30 },
  'hour-one': { rows: 1, started: 1, ticks: 30 },
  'hour-all': { rows: 25, started: 25, ticks: 30 },
  'month-skip': { rows: 1, started: 0, ticks: 1_001 },
  'month-one': { rows: 1, started: 1, ticks: 1_001 },
  'month-all': { rows: 25, started: 25, ticks: 1_025 },
}

/** A worker comes back after a gap of an hour and of thirty days, with a clock that is ten minutes behind. */
export async function comeBack(clusterUrl: string): Promise<GapOutcome> {
  await using db = await testDatabase(clusterUrl)
  const policies = { skip: `'skip'`, one: `'one'`, all: '{ all: 25 }' }
  const names = ['hour', 'month'].flatMap((gap) => Object.keys(policies).map((policy) => `${gap}-${policy}`))
  // Every minute of the half hour that is furthest from now: no tick becomes due while this runs.
  const now = await db.value<number>(`select extract(minute from clock_timestamp())::int`)
  const minutes = Array.from({ length: 30 }, (_, i) => (now + 10 + i) % 60).toSorted((a, b) => a - b)
  const schedules = `const schedules = ${JSON.stringify(names)}.map((name) => defineSchedule({ name, cron: '${minutes.join(',')} * * * *', job: jobs[0],
    missed: { ${Object.entries(policies)
      .map(([name, value]) => `${name}: ${value}`)
      .join(', ')} }[name.split('-')[1]], overlap: 'allow' }))`
  const jobs = `const jobs = [defineJob({ name: 'gap', perform: () => undefined })]`
  const options = { url: db.workerUrl, jobs, schedules, skewMs: -600_000 }
  {
    await using first = await spawnWorker(options)
    await until(
      'the schedules are there',
      async () => (await db.value('select count(*)::int from sluice.schedule')) === 6,
    )
    first.kill('SIGTERM')
    await first.exited
  }
  await db.query(
    `update sluice.schedule set considered_to = clock_timestamp()
       - case when name like 'hour%' then interval '1 hour' else interval '30 days' end`,
  )
  await using worker = await spawnWorker(options)
  // The last tick was more than twenty minutes ago.
  const behind = `select count(*)::int from sluice.schedule s where not exists (
    select from sluice.schedule_tick t where t.schedule = s.name and t.tick = $1)`
  const last = await db.value<Date>(`select date_trunc('hour', clock_timestamp()) + $1::int * interval '1 minute'`, [
    (now + 39) % 60,
  ])
  if (last > new Date()) last.setUTCHours(last.getUTCHours() - 1)
  await until('all is considered', async () => (await db.value<number>(behind, [last])) === 0, 120_000)
  worker.kill('SIGTERM')
  await worker.exited
  const rows = await db.query<{ schedule: string; rows: number; started: number; ticks: number }>(
    `select schedule, count(*)::int as rows, count(job_id)::int as started, sum(1 + missed)::int as ticks
     from sluice.schedule_tick group by schedule`,
  )
  return Object.fromEntries(rows.map(({ schedule, ...rest }) => [schedule, rest]))
}
