// A standby takes over while the name of the database still leads to the old server, which cannot write any more.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { backfill, defineJob, defineSchedule, Sluice, sql } from '../../src/index.ts'
import { withDatabase } from '../support/cluster.ts'
import { testDatabase } from '../support/database.ts'
import { EventLog } from '../support/events.ts'
import { startFaultProxy } from '../support/fault-proxy/index.ts'
import { jobProfile, openClient, withLedger } from '../support/jobs.ts'
import { patiently } from '../support/patience.ts'
import { startPair } from '../support/replica.ts'
import { until } from '../support/wait.ts'

const settings = { fsync: 'off', max_connections: '80', shared_buffers: '64MB' }
const rows = 2_000
const jobs = 150

/** Slow enough that the failover comes in the middle, and each row tells how often it was changed. */
const count = backfill({
  name: 'count',
  table: 'counters',
  set: { n: sql`n + 1 + (pg_sleep(0.002)::text is null)::int` },
  where: sql`n < 9`,
  verify: false,
  subBatchSize: 20,
})
const plain = defineJob({ name: 'plain', perform: () => sleep(20) })
const noted = defineJob({
  name: 'noted',
  transaction: true,
  perform: async ({ job, tx }) =>
    void (await tx.query('insert into ledger (note) select $1 from pg_sleep(0.02)', [String(job.id)])),
})
const ticking = defineJob({ name: 'ticking', perform: () => undefined })
const eachSecond = defineSchedule({
  name: 'each-second',
  cron: '* * * * * *',
  job: ticking,
  overlap: 'allow',
  missed: { all: 600 },
})

test('operations, jobs and schedules go on at the server that has taken over, and nothing is lost or done twice', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-failover-'))
  try {
    await using pair = await startPair(folder, settings)
    const old = await withLedger(await testDatabase(pair.primary.url))
    await old.query('create table counters (id bigint primary key, n int not null default 0)')
    await old.query('insert into counters (id) select generate_series(1, $1::int)', [rows])
    const { hostname: host, pathname } = new URL(old.workerUrl)
    await using proxy = await startFaultProxy({ host, port: pair.primary.port })
    const events = new EventLog()
    const worker = (): Sluice => {
      const profile = jobProfile({ concurrency: 3 }, { lease: patiently(3_000) })
      const known = { operations: [count], jobs: [plain, noted], schedules: [eachSecond] }
      const sluice = new Sluice({ ...profile, ...known, database: proxy.url(old.workerUrl) })
      sluice.onAny((event) => events.push(event))
      return sluice
    }
    await using first = worker()
    await using second = worker()
    for (const sluice of [first, second]) await sluice.start()
    await first.jobs.enqueueMany(
      plain,
      Array.from({ length: jobs }, () => undefined),
    )
    await first.jobs.enqueueMany(
      noted,
      Array.from({ length: jobs }, () => undefined),
    )
    const { id } = await first.operations.start(count)
    await events.event('sub-batch.committed', { nth: 10 })
    await events.event('job.finished', { nth: 20 })
    await events.event('schedule.ticked')

    // Nobody gets through while it lasts; then the name leads to the old server for a while.
    proxy.lead({ host, port: 1 })
    proxy.cut('rst')
    await pair.failOver()
    proxy.lead({ host, port: pair.primary.port })
    const lost = (purpose: string): boolean =>
      events
        .payloads('connection.lost')
        .some((each) => each.purpose === purpose && /read-only: it is a standby/.test(each.error.message))
    await until('all have met the old server', () => ['renewal', 'listen'].every(lost))
    proxy.lead({ host, port: pair.replica.port })

    await using client = await openClient(withDatabase(pair.replica.url, pathname.slice(1)))
    const counted = async (text: string): Promise<number> =>
      (await client.query<{ n: number }>(`select count(*)::int as n from ${text}`)).rows[0]?.n ?? -1
    const ticks = await counted('sluice.schedule_tick')
    expect(await first.operations.wait(id)).toMatchObject({ state: 'finished' })
    await until('the schedule goes on', async () => (await counted('sluice.schedule_tick')) > ticks + 2)
    await first.schedules.disable('each-second')
    await until('all jobs have ended', async () => (await counted('sluice.job')) === 0)
    const ended = (name: string): Promise<number> =>
      counted(`sluice.job_history h join sluice.job_class c on c.id = h.class_id where c.name = '${name}'`)
    expect(await counted('counters where n <> 1')).toBe(0)
    expect([await ended('plain'), await ended('noted')]).toEqual([jobs, jobs])
    expect(await counted('ledger')).toBe(jobs)
    expect(await counted('(select distinct note from ledger) each')).toBe(jobs)
    expect(await ended('ticking')).toBe(await counted('sluice.schedule_tick'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
