import { expect, test } from 'vitest'
import { defineJob, defineSchedule, type ScheduleDefinition } from '../../../src/index.ts'
import { settleNext, type SettleTools } from '../../../src/patterns/schedules/settle.ts'
import { openDatabase } from '../../../src/store/database.ts'
import * as store from '../../../src/store/schedules.ts'
import { Telemetry } from '../../../src/telemetry/telemetry.ts'
import { onClient, testDatabase, type TestDatabase } from '../../support/database.ts'
import { liveJobs, openClient } from '../../support/jobs.ts'
import { isWaiting } from '../../support/locks.ts'
import { until } from '../../support/wait.ts'
import { queueOn } from '../../jobs/store-by-hand.ts'
import { everyHour, goBack, keeper, tickRows } from './kept.ts'

// Nobody works on this queue: a run stays where it is.
const report = defineJob({ name: 'report', queue: 'held', perform: () => undefined })

interface Scene extends AsyncDisposable {
  db: TestDatabase
  schedule: ScheduleDefinition
  sluice: ReturnType<typeof keeper>['sluice']
  /** Settles the next due tick, as a worker does. */
  settle: () => ReturnType<typeof settleNext>
}

/** A schedule with one tick due, half an hour from any other: none becomes due while a test runs. */
async function scene(overlap: ScheduleDefinition['overlap'] = 'skip'): Promise<Scene> {
  const db = await testDatabase()
  const schedule = defineSchedule({ name: 'hourly', cron: everyHour(), job: report, overlap })
  // Some of these wait for locks on purpose.
  const timeouts = { statement: '30s', lock: '20s', idleInTransaction: '60s' } as const
  const { sluice } = keeper(db, [schedule], { timeouts })
  await db.query(`select sluice.create_schedule_partitions(clock_timestamp() - interval '1 hour')`)
  await sluice.schedules.enable('hourly')
  await goBack(db, 'hourly', '1 hour')
  // A worker that settles ticks waits for no lock; this ends the wait of one that does.
  const limits = { statementMs: 10_000, lockMs: 2_000, idleInTransactionMs: 60_000 }
  const database = await openDatabase({ url: db.workerUrl, schema: 'sluice', workSize: 1, timeouts: limits })
  const start: SettleTools['start'] = (_target, _args, tx) => sluice.jobs.enqueue(report, undefined, { tx })
  const close = async (): Promise<void> => {
    await database.close()
    await sluice.stop()
    await db[Symbol.asyncDispose]()
  }
  const settle = (): ReturnType<typeof settleNext> =>
    settleNext(schedule, { database, queue: queueOn(database), telemetry: new Telemetry(), start })
  return { db, schedule, sluice, settle, [Symbol.asyncDispose]: close }
}

const byHand = {
  schedule: 'hourly',
  tick: null,
  outcome: 'started',
  reason: null,
  operation_id: null,
  missed: 0,
} as const

test('a tick that has a row starts nothing', async () => {
  await using at = await scene('allow')
  expect(await at.settle()).toBe('settled')
  await goBack(at.db, 'hourly', '1 hour')
  expect(await at.settle()).toBe('settled')
  expect(await at.settle()).toBe('idle')
  expect(await tickRows(at.db, 'hourly')).toHaveLength(1)
  expect(await liveJobs(at.db)).toBe(1)
})

test('a worker leaves a schedule alone while another starts a run of it', async () => {
  await using at = await scene()
  await using client = await openClient(at.db.workerUrl)
  const other = onClient(client)
  await client.query('begin')
  await store.lockAnyway(other, { name: 'hourly' })
  const { id } = await at.sluice.jobs.enqueue(report, undefined, { tx: client })
  await store.settle(other, { ...byHand, job_id: id, actor: 'ada' })
  expect(await at.settle()).toBe('busy')
  await client.query('commit')
  expect(await at.settle()).toBe('settled')
  const rows = await tickRows(at.db, 'hourly')
  expect(rows.map(({ outcome }) => outcome)).toEqual(['skipped', 'started'])
  expect(await liveJobs(at.db)).toBe(1)
})

test('a person who asks for a run waits for the one that is being started, and is refused', async () => {
  await using at = await scene()
  await using client = await openClient(at.db.workerUrl)
  const other = onClient(client)
  await client.query('begin')
  await store.lockAnyway(other, { name: 'hourly' })
  const { id } = await at.sluice.jobs.enqueue(report, undefined, { tx: client })
  await store.settle(other, { ...byHand, job_id: id, actor: 'ada' })
  const asked = at.sluice.schedules.run('hourly').catch((error: unknown) => error)
  await until('it waits', () => isWaiting(at.db))
  await client.query('commit')
  expect(await asked).toMatchObject({ code: 'SCHEDULE_STATE' })
  expect(await liveJobs(at.db)).toBe(1)
})

test.each([
  ['skip', 'is passed over', 'settled', ['skipped', 'started'], 1],
  ['queue', 'waits', 'blocked', ['started'], 1],
  ['allow', 'starts another run', 'settled', ['started', 'started'], 2],
] as const)('with overlap "%s", a tick during a run %s', async (overlap, _, settled, outcomes, jobs) => {
  await using at = await scene(overlap)
  await at.sluice.schedules.run('hourly')
  expect(await at.settle()).toBe(settled)
  expect((await tickRows(at.db, 'hourly')).map(({ outcome }) => outcome)).toEqual(outcomes)
  expect(await liveJobs(at.db)).toBe(jobs)
})

test('a run and the row of its tick commit in one transaction', async () => {
  await using at = await scene()
  await at.sluice.schedules.run('hourly')
  const tick = await at.db.value('select xmin::text from sluice.schedule_tick')
  expect(await at.db.value('select xmin::text from sluice.job')).toBe(tick)
})

test('the moment up to which a schedule is settled never goes back', async () => {
  await using at = await scene()
  await using client = await openClient(at.db.workerUrl)
  const worker = onClient(client)
  const settledTo = (): Promise<Date> => at.db.value('select considered_to from sluice.schedule')
  const before = await settledTo()
  const earlier = new Date(before.getTime() - 60_000)
  await store.consider(worker, { name: 'hourly', upTo: earlier })
  expect(await settledTo()).toEqual(before)
  await store.settle(worker, { ...byHand, tick: earlier, job_id: null, actor: null })
  expect(await settledTo()).toEqual(before)
})

test.each([
  ['is disabled', { enabled: false }],
  ['has another rule', { rule: '0 3 * * *' }],
  ['has another time zone', { zone: 'Asia/Tokyo' }],
])('a worker settles no tick of a schedule that %s in the database', async (_, change) => {
  await using at = await scene()
  const [[column, value] = []] = Object.entries(change)
  await at.db.query(`update sluice.schedule set ${column} = $1`, [value])
  expect(await at.settle()).toBe('busy')
  expect(await tickRows(at.db, 'hourly')).toEqual([])
})
