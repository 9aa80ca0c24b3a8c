// During a deploy workers of two releases are there, with two rules for one schedule.
import { expect, test } from 'vitest'
import { defineJob, defineSchedule, type ScheduleDefinition } from '../../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { until } from '../../support/wait.ts'
import { startedKeeper, type Keeper } from './kept.ts'

const job = defineJob({ name: 'tick', perform: () => undefined })
const release = (cron: string): ScheduleDefinition => defineSchedule({ name: 'nightly', cron, job })
const [old, fresh] = [release('0 * * * *'), release('30 * * * *')]

const ruleOf = (db: TestDatabase): Promise<string | undefined> => db.value('select rule from sluice.schedule')

/** A worker of a release, when it has made up its mind about the schedule. */
async function deployed(db: TestDatabase, schedule: ScheduleDefinition): Promise<Keeper> {
  const worker = await startedKeeper(db, [schedule])
  await until('it keeps the schedule or leaves it', async () => {
    const left = worker.events.payloads('warning').some(({ message }) => message.includes('nightly'))
    return left || (await ruleOf(db)) === schedule.rule
  })
  return worker
}

test('a worker of the old release that starts again does not bring the old rule back', async () => {
  await using db = await testDatabase()
  await using _before = await deployed(db, old)
  await using _after = await deployed(db, fresh)
  expect(await ruleOf(db)).toBe(fresh.rule)
  await using again = await deployed(db, old)
  expect(await ruleOf(db)).toBe(fresh.rule)
  expect(again.events.payloads('warning').map(({ message }) => message)).toEqual([
    expect.stringContaining('Other workers keep the schedule "nightly" by the rule "30 * * * *"'),
  ])
})

test('when no worker is left that keeps the rule of a schedule, another one brings its own rule back', async () => {
  await using db = await testDatabase()
  await using kept = await deployed(db, fresh)
  const other = await deployed(db, old)
  expect(await ruleOf(db)).toBe(old.rule)
  await other.sluice.stop()
  await until('the schedule is kept again', async () => (await ruleOf(db)) === fresh.rule)
  // It begins now, and makes up for nothing.
  const { nextAt, asOf } = await kept.sluice.schedules.get('nightly')
  expect(nextAt?.getTime()).toBeGreaterThan(asOf.getTime())
})

test('a worker that died without a word keeps nothing', async () => {
  await using db = await testDatabase()
  await using _kept = await deployed(db, fresh)
  await using other = await deployed(db, old)
  await db.query(
    `insert into sluice.worker (id, host, pid, version, operations, rules, seen_at)
     values (gen_random_uuid(), 'gone', 1, '0', '{}', $1, clock_timestamp() - interval '1 hour')`,
    [[`nightly ${old.rule} ${old.calendar.zone}`]],
  )
  await other.sluice.stop()
  await until('the schedule is kept again', async () => (await ruleOf(db)) === fresh.rule)
})

test('a rule that nobody has had before holds at once', async () => {
  await using db = await testDatabase()
  await using _one = await deployed(db, old)
  await using _two = await deployed(db, fresh)
  await using _three = await deployed(db, release('45 * * * *'))
  expect(await ruleOf(db)).toBe('45 * * * *')
  expect(await db.value('select past_rules from sluice.schedule')).toEqual([
    `0 * * * * ${old.calendar.zone}`,
    `30 * * * * ${old.calendar.zone}`,
  ])
})
