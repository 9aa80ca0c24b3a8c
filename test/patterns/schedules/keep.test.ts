import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, defineSchedule, defineOperation, type ScheduleDefinition } from '../../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { until } from '../../support/wait.ts'
import { everyHour, goBack, keeper, startedKeeper, tickRows } from './kept.ts'

let db: TestDatabase
beforeAll(async () => {
  db = await testDatabase()
})
afterAll(async () => {
  await db[Symbol.asyncDispose]()
})

const quick = defineJob({ name: 'quick', perform: () => undefined })
const stuck = defineJob({
  name: 'stuck',
  perform: ({ signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
})
const limited = defineJob({ name: 'limited', args: z.object({ limit: z.number() }), perform: () => undefined })

const hourly = (name: string, rest: object = {}): ScheduleDefinition =>
  defineSchedule({ name, cron: everyHour(), job: quick, ...rest } as never)

const jobsOf = (name: string): Promise<number> =>
  db.value(
    `select (select count(*) from sluice.job j join sluice.job_class c on c.id = j.class_id where c.name = $1)::int
          + (select count(*) from sluice.job_history h join sluice.job_class c on c.id = h.class_id where c.name = $1)::int
          + (select count(*) from sluice.job_dead d join sluice.job_class c on c.id = d.class_id where c.name = $1)::int`,
    [name],
  )

test('each tick has one row and one job, whoever of several workers is there', async () => {
  const counted = defineJob({ name: 'counted', perform: () => undefined })
  const schedule = defineSchedule({
    name: 'each-second',
    cron: '* * * * * *',
    job: counted,
    missed: { all: 1_000 },
    overlap: 'allow',
  })
  await using one = await startedKeeper(db, [schedule])
  await using two = await startedKeeper(db, [schedule])
  await using three = await startedKeeper(db, [schedule])
  await until('five ticks were settled', async () => (await tickRows(db, 'each-second')).length >= 5)
  await one.sluice.schedules.disable('each-second', { reason: 'enough' })
  const rows = await tickRows(db, 'each-second')
  expect(await jobsOf('counted')).toBe(rows.length)
  const seconds = rows.map(({ tick }) => tick.getTime() / 1_000)
  expect(seconds).toEqual(seconds.map((_, i) => (seconds[0] ?? 0) + i))
  // Each tick is told once, after its commit; nothing more is told by workers that have stopped.
  await Promise.all([one, two, three].map(({ sluice }) => sluice.stop()))
  const ticked = [one, two, three].reduce((sum, { events }) => sum + events.count('schedule.ticked'), 0)
  expect(ticked).toBe(rows.length)
})

test('a new schedule makes up for nothing', async () => {
  await using worker = await startedKeeper(db, [hourly('fresh')])
  await until('it is known', async () => !(await worker.sluice.schedules.get('fresh')).parked)
  const { lastTick, nextAt, asOf } = await worker.sluice.schedules.get('fresh')
  expect(lastTick).toBeNull()
  expect(nextAt?.getTime()).toBeGreaterThan(asOf.getTime())
})

describe('after a gap', () => {
  test.each([
    ['one', '5 hours', 1, 1],
    ['one', '30 days', 1, 1],
    ['skip', '5 hours', 1, 0],
    ['skip', '30 days', 1, 0],
    [{ all: 3 }, '5 hours', 3, 3],
    [{ all: 24 }, '30 days', 24, 24],
  ] as const)('missed %j of %s settles %i and starts %i', async (missed, gap, settled, started) => {
    const name = `gap-${JSON.stringify(missed).replaceAll(/\W/g, '')}-${gap.replace(' ', '-')}`
    const job = defineJob({ name: `${name}-job`, perform: () => undefined })
    const cron = everyHour()
    const schedule = defineSchedule({ name, cron, job, missed, overlap: 'allow' })
    await using worker = keeper(db, [schedule])
    await worker.sluice.schedules.enable(name)
    await goBack(db, name, gap)
    await worker.sluice.start()
    await until('all is settled', async () => (await tickRows(db, name)).length === settled)
    // Nothing more comes before the next hour.
    const { nextAt, asOf } = await worker.sluice.schedules.get(name)
    expect(nextAt?.getTime()).toBeGreaterThan(asOf.getTime())
    expect(await jobsOf(job.name)).toBe(started)
    const rows = await tickRows(db, name)
    const ticks = gap === '5 hours' ? 5 : 720
    expect(rows.reduce((sum, row) => sum + row.missed + 1, 0)).toBe(ticks)
    expect(new Set(rows.map(({ tick }) => tick.getUTCMinutes()))).toEqual(new Set([Number.parseInt(cron, 10)]))
  })
})

describe('overlap', () => {
  test('skip: a tick while the last run goes on starts nothing, and says what is in the way', async () => {
    const schedule = hourly('skipping', { job: stuck })
    await using worker = await startedKeeper(db, [schedule])
    const { jobId } = await worker.sluice.schedules.run('skipping', { actor: 'ada' })
    await goBack(db, 'skipping', '1 hour')
    const skipped = await worker.events.event('schedule.skipped')
    expect(skipped).toMatchObject({ schedule: 'skipping', reason: `blocked by job ${jobId}` })
    expect((await worker.sluice.schedules.get('skipping')).blockedBy).toMatchObject({ kind: 'job', id: jobId })
    expect((await tickRows(db, 'skipping'))[0]).toMatchObject({ outcome: 'skipped', reason: `blocked by job ${jobId}` })
    await expect(worker.sluice.schedules.run('skipping')).rejects.toMatchObject({
      code: 'SCHEDULE_STATE',
      message: expect.stringContaining(`blocked by job ${jobId}`),
    })
    await worker.sluice.jobs.cancel(jobId as number)
    await worker.sluice.jobs.wait(jobId as number)
    expect((await worker.sluice.schedules.get('skipping')).blockedBy).toBeNull()
    // A tick that has a row has had its turn, whatever the schedule says of itself.
    await goBack(db, 'skipping', '1 hour')
    await until('it was considered again', async () => {
      const { nextAt, asOf } = await worker.sluice.schedules.get('skipping')
      return nextAt !== null && nextAt > asOf
    })
    expect(await jobsOf('stuck')).toBe(1)
    await goBack(db, 'skipping', '2 hours')
    await db.query(`delete from sluice.schedule_tick where schedule = 'skipping' and actor is null`)
    expect(await worker.events.event('schedule.ticked', { nth: 2 })).toMatchObject({ missed: 1 })
  })

  test('queue: a tick waits for the run before it', async () => {
    const schedule = hourly('queueing', { job: stuck, overlap: 'queue' })
    await using worker = await startedKeeper(db, [schedule])
    const { jobId } = await worker.sluice.schedules.run('queueing')
    await goBack(db, 'queueing', '2 hours')
    await until('it is due', async () => {
      const { nextAt, asOf } = await worker.sluice.schedules.get('queueing')
      return nextAt !== null && nextAt < asOf
    })
    expect(worker.events.count('schedule.ticked')).toBe(1)
    await worker.sluice.jobs.cancel(jobId as number)
    const next = await worker.events.event('schedule.ticked', { nth: 2 })
    expect(next).toMatchObject({ missed: 1, actor: null })
    expect(next.jobId).toBeGreaterThan(jobId as number)
  })

  test('a run that is older than the deadline is in nobody’s way', async () => {
    const schedule = hourly('overdue', { job: stuck, deadline: '1m' })
    await using worker = await startedKeeper(db, [schedule])
    const { jobId } = await worker.sluice.schedules.run('overdue')
    expect((await worker.sluice.schedules.get('overdue')).blockedBy).toMatchObject({ id: jobId })
    await db.query(
      `update sluice.schedule set last_started_at = last_started_at - interval '2 minutes' where name = 'overdue'`,
    )
    expect((await worker.sluice.schedules.get('overdue')).blockedBy).toBeNull()
    await goBack(db, 'overdue', '1 hour')
    expect((await worker.events.event('schedule.ticked', { nth: 2 })).jobId).toBeGreaterThan(jobId as number)
  })
})

describe('a person', () => {
  test('stops a schedule and lets it go on, without what it would have done meanwhile', async () => {
    await using worker = await startedKeeper(db, [hourly('switched'), hourly('witness')])
    await until('they are known', async () => !(await worker.sluice.schedules.get('witness')).parked)
    const stopped = await worker.sluice.schedules.disable('switched', { actor: 'ada', reason: 'release' })
    expect(stopped).toMatchObject({ enabled: false, disabledBy: 'ada', reason: 'release', nextAt: null })
    await goBack(db, 'switched', '3 hours')
    // The worker has looked at both when it has settled the second.
    await goBack(db, 'witness', '1 hour')
    await worker.events.event('schedule.ticked')
    const { sluice } = worker
    expect(await sluice.schedules.enable('switched')).toMatchObject({ enabled: true, disabledBy: null, lastTick: null })
    const { nextAt, asOf } = await sluice.schedules.get('switched')
    expect(nextAt?.getTime()).toBeGreaterThan(asOf.getTime())
    expect(await tickRows(db, 'switched')).toEqual([])
  })

  test('runs one now, also when it is disabled; that is a row with a name', async () => {
    await using kept = keeper(db, [hourly('by-hand')])
    await kept.sluice.schedules.disable('by-hand')
    const tick = await kept.sluice.schedules.run('by-hand', { actor: 'ada' })
    expect(tick).toMatchObject({ schedule: 'by-hand', outcome: 'started', actor: 'ada', missed: 0 })
    expect(await kept.sluice.jobs.get(tick.jobId as number)).toMatchObject({ name: 'quick' })
    expect(await kept.sluice.schedules.ticks('by-hand')).toEqual([tick])
  })

  test('runs as many at once as there are connections, and none waits for another for ever', async () => {
    await db.query('create table pieces (id bigint primary key)')
    const schedules = Array.from({ length: 6 }, (_, n) => {
      const touch = defineOperation({ name: `touch-${n}`, table: 'pieces', approval: true, perform: async () => 0 })
      return defineSchedule({ name: `at-once-${n}`, cron: everyHour(), operation: touch })
    })
    await using kept = keeper(db, schedules)
    await kept.sluice.schedules.list()
    const runs = schedules.map(({ name }) => kept.sluice.schedules.run(name))
    expect(await Promise.all(runs)).toEqual(runs.map(() => expect.objectContaining({ outcome: 'started' })))
  })

  test('is told that there is no such schedule', async () => {
    await using kept = keeper(db, [hourly('by-name')])
    await expect(kept.sluice.schedules.get('by-nam')).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
    await expect(kept.sluice.schedules.disable('nobody')).rejects.toMatchObject({ code: 'SCHEDULE_NOT_FOUND' })
    await expect(kept.sluice.schedules.run('by-nam')).rejects.toMatchObject({ code: 'DEFINITION_UNKNOWN' })
  })

  test('sees a schedule that no worker keeps yet', async () => {
    await using kept = keeper(db, [hourly('unseen')])
    expect(await kept.sluice.schedules.get('unseen')).toMatchObject({ parked: true, enabled: true, lastTick: null })
    expect((await kept.sluice.schedules.list()).map(({ name }) => name)).toContain('unseen')
    expect(await db.value(`select count(*)::int from sluice.schedule where name = 'unseen'`)).toBe(0)
  })
})

describe('what the code says', () => {
  test('a changed rule begins anew, and a worker with the old one leaves it alone', async () => {
    await using old = await startedKeeper(db, [hourly('changed'), hourly('beside')])
    await until('it is known', async () => !(await old.sluice.schedules.get('beside')).parked)
    const renewed = defineSchedule({ name: 'changed', cron: '30 3 1 1 *', zone: 'Europe/Berlin', job: quick })
    await using _renewed = await startedKeeper(db, [renewed])
    await until(
      'the new rule is there',
      async () => (await old.sluice.schedules.get('changed')).zone === 'Europe/Berlin',
    )
    await goBack(db, 'changed', '20 hours')
    // Hourly ticks would be due; the old worker has looked at both when it has settled the second.
    await goBack(db, 'beside', '1 hour')
    await old.events.event('schedule.ticked')
    expect(await tickRows(db, 'changed')).toEqual([])
    expect(await old.sluice.schedules.get('changed')).toMatchObject({ rule: '30 3 1 1 *' })
  })

  test('what cannot be started is settled as failed, and the schedule goes on', async () => {
    const wrong = defineSchedule({ name: 'wrong', cron: everyHour(), job: limited, args: { limit: 'all' } as never })
    await using worker = await startedKeeper(db, [wrong])
    await until('it is known', async () => !(await worker.sluice.schedules.get('wrong')).parked)
    await goBack(db, 'wrong', '1 hour')
    expect(await worker.events.event('schedule.failed')).toMatchObject({
      schedule: 'wrong',
      reason: expect.stringContaining('do not fit its schema'),
    })
    expect(await tickRows(db, 'wrong')).toMatchObject([{ outcome: 'failed' }])
    const { nextAt, asOf } = await worker.sluice.schedules.get('wrong')
    expect(nextAt?.getTime()).toBeGreaterThan(asOf.getTime())
  })

  test('an operation is started by its verb, and blocks until it has ended', async () => {
    await db.query('create table things (id bigint primary key)')
    await db.query('insert into things select generate_series(1, 10)')
    const touch = defineOperation({ name: 'touch', table: 'things', approval: true, perform: async () => 0 })
    const schedule = defineSchedule({ name: 'touching', cron: everyHour(), operation: touch })
    await using worker = await startedKeeper(db, [schedule])
    await until('it is known', async () => !(await worker.sluice.schedules.get('touching')).parked)
    await goBack(db, 'touching', '1 hour')
    const { operationId } = await worker.events.event('schedule.ticked')
    expect(await worker.sluice.operations.get(operationId as string)).toMatchObject({ state: 'awaiting_approval' })
    expect((await worker.sluice.schedules.get('touching')).blockedBy).toMatchObject({
      kind: 'operation',
      id: operationId,
    })
    await worker.sluice.operations.approve(operationId as string)
    await worker.sluice.operations.wait(operationId as string)
    expect((await worker.sluice.schedules.get('touching')).blockedBy).toBeNull()
  })
})

test('ticks that are older than any partition get one, and old partitions go', async () => {
  const yearly = defineSchedule({ name: 'yearly', cron: '@yearly', job: quick })
  await using worker = await startedKeeper(db, [yearly])
  await until('it is known', async () => !(await worker.sluice.schedules.get('yearly')).parked)
  await goBack(db, 'yearly', '1 year')
  const { tick } = await worker.events.event('schedule.ticked')
  expect(await tickRows(db, 'yearly')).toMatchObject([{ tick }])
  await db.query(`select sluice.drop_schedule_partitions(7)`)
  // In the first days of a year that tick is not old yet.
  const isOld = Date.now() - tick.getTime() > 20 * 86_400_000
  expect(await tickRows(db, 'yearly')).toHaveLength(isOld ? 0 : 1)
})
