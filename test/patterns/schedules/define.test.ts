import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, defineSchedule, expire, Sluice, type ScheduleDefinition } from '../../../src/index.ts'
import { decide, isBlocking, type Step } from '../../../src/patterns/schedules/decide.ts'

const job = defineJob({ name: 'tidy', perform: () => undefined })
const withArgs = defineJob({ name: 'tidy-some', args: z.object({ limit: z.number() }), perform: () => undefined })

/** Defines something that types would refuse. */
const define = (spec: object): ScheduleDefinition =>
  defineSchedule({ name: 's', job, cron: '0 * * * *', ...spec } as never)

describe('a schedule is refused', () => {
  test.each<[string, object, RegExp]>([
    ['without a name', { name: '' }, /its name must start with a letter/],
    ['with an option that is none', { crom: '* * * * *' }, /no option "crom". Did you mean "cron"\?$/],
    ['with a pattern that is none', { cron: 'hourly' }, /five fields/],
    ['with a field out of range', { cron: '61 * * * *' }, /"cron" cannot be read: Invalid value for minute: 61/],
    ['with a field for years', { cron: '0 0 3 * * * 2027' }, /no field for years/],
    ['with a date', { cron: '2026-01-01T00:00:00' }, /five fields/],
    ['when it would never fire', { cron: '0 0 31 2 *' }, /it would never fire: no date fits "0 0 31 2 \*"/],
    ['when it would never fire in its window', { cron: '0 12 * * *', window: '00:00-06:00' }, /inside of its window/],
    ['with a zone that is none', { zone: 'Europe/Berlim' }, /"Europe\/Berlim" is not a time zone/],
    ['with two rhythms', { every: '15m' }, /give "cron" or "every"/],
    ['with a rhythm too quick', { cron: undefined, every: '10ms' }, /from a second to a year/],
    ['without something to start', { job: undefined }, /give "job" or "operation"/],
    [
      'with two things to start',
      { operation: expire({ name: 'e', table: 't', olderThan: '1 day', by: 'at' }) },
      /give/,
    ],
    ['with something that is no job', { job: {} }, /must come from defineJob/],
    ['with a policy that is none', { missed: 'all' }, /"missed" must be/],
    ['with too many runs to make up for', { missed: { all: 5_000 } }, /from 1 to 1,000/],
    ['with runs to make up for that skip each other', { missed: { all: 5 }, overlap: 'skip' }, /use queue or allow/],
    ['with ticks that wait and are then late', { missed: 'skip', overlap: 'queue' }, /use missed "one"/],
    ['with a jitter that is no time', { jitter: 'some' }, /"jitter" must be a time/],
    ['with a change of clocks that is none', { clockChange: 'skip' }, /"clockChange" must be such as/],
    ['with an unknown word for it', { clockChange: { leftOut: 'later' } }, /"clockChange.leftOut" must be run or skip/],
    ['with an unknown rule for it', { clockChange: { leftout: 'run' } }, /Did you mean "leftOut"\?$/],
    ['with clocks for what is even', { cron: undefined, every: '1h', clockChange: {} }, /"every" knows no clocks/],
    ['with a deadline that is no time', { deadline: 0 }, /"deadline" must be a time/],
  ])('%s', (_, spec, message) => {
    expect(() => define(spec)).toThrow(
      expect.objectContaining({ code: 'DEFINITION_INVALID', message: expect.stringMatching(message) }),
    )
  })

  test('with args that cannot be stored', () => {
    expect(() => defineSchedule({ name: 's', cron: '@daily', job: withArgs, args: { limit: Number.NaN } })).toThrow(
      expect.objectContaining({ code: 'ARGS_INVALID' }),
    )
  })

  test('with a window that is none', () => {
    expect(() => define({ window: '25:00-06:00' })).toThrow(expect.objectContaining({ code: 'WINDOW_INVALID' }))
  })
})

describe('a schedule', () => {
  test('takes what is easy to say', () => {
    expect(define({ cron: '@hourly' }).rule).toBe('@hourly')
    expect(define({ cron: '0 7 * * mon-fri', zone: 'Europe/Berlin' }).calendar.zone).toBe('Europe/Berlin')
    expect(define({ cron: undefined, every: '15m' })).toMatchObject({
      rule: 'every 15m',
      overlap: 'skip',
      missed: 'one',
    })
    expect(define({ missed: { all: 3 } }).overlap).toBe('queue')
  })

  test('has a jitter of its own that stays the same', () => {
    const delays = ['a', 'b', 'c', 'd'].map((name) => define({ name, jitter: '10m' }).delayMs)
    expect(delays).toEqual(['a', 'b', 'c', 'd'].map((name) => define({ name, jitter: '10m' }).delayMs))
    expect(new Set(delays).size).toBe(4)
    for (const delay of delays) expect(delay).toBeLessThan(600_000)
  })

  test('makes args of the tick', () => {
    const limits = defineSchedule({
      name: 's',
      cron: '@daily',
      job: withArgs,
      args: (tick) => ({ limit: tick.getTime() }),
    })
    expect(limits.argsAt(new Date(5))).toEqual({ limit: 5 })
  })

  test('brings its job into the process that keeps it, and its name is its own', async () => {
    const schedule = define({})
    await using one = new Sluice({ schedules: [schedule], jobs: [job] })
    await using other = new Sluice({ schedules: [schedule, define({ name: 'other' })] })
    expect([one, other]).toHaveLength(2)
    expect(() => new Sluice({ schedules: [schedule, schedule] })).toThrow(/Two schedules are named "s"/)
  })
})

const at = (time: string): Date => new Date(`2026-03-01T${time}Z`)

const next = (spec: object, consideredTo: string, now: string): Step | undefined =>
  decide(define(spec), { consideredTo: at(consideredTo), now: at(now) })

describe('what is due', () => {
  test('is nothing before the tick and the tick from then on', () => {
    expect(next({}, '01:00:00', '01:59:59.999')).toBeUndefined()
    expect(next({}, '01:00:00', '02:00:00')).toEqual({ tick: at('02:00:00'), missed: 0, late: false })
    expect(next({}, '02:00:00', '02:00:00')).toBeUndefined()
  })

  test('waits for the jitter, and keeps the moment of the tick', () => {
    const { delayMs } = define({ jitter: '10m' })
    const due = new Date(at('02:00:00').getTime() + delayMs)
    const asked = (now: Date) => decide(define({ jitter: '10m' }), { consideredTo: at('01:00:00'), now })
    expect(asked(new Date(due.getTime() - 1))).toBeUndefined()
    expect(asked(due)).toMatchObject({ tick: at('02:00:00') })
  })

  test('after a gap is as the policy says', () => {
    expect(next({ missed: 'one' }, '01:00:00', '09:30:00')).toEqual({ tick: at('09:00:00'), missed: 7, late: false })
    expect(next({ missed: { all: 3 } }, '01:00:00', '09:30:00')).toEqual({
      tick: at('07:00:00'),
      missed: 5,
      late: false,
    })
    expect(next({ missed: { all: 30 } }, '01:00:00', '09:30:00')).toEqual({
      tick: at('02:00:00'),
      missed: 0,
      late: false,
    })
    expect(next({ missed: 'skip' }, '01:00:00', '09:30:00')).toEqual({ tick: at('09:00:00'), missed: 7, late: true })
    expect(next({ missed: 'skip' }, '01:00:00', '09:00:20')).toEqual({ tick: at('09:00:00'), missed: 7, late: false })
  })

  test('after a month of seconds is found quickly, and counted up to a thousand', () => {
    const now = new Date('2026-04-01T00:00:00Z')
    const step = decide(define({ cron: '* * * * * *' }), { consideredTo: at('00:00:00'), now })
    expect(step).toEqual({ tick: now, missed: 1_000, late: false })
  })
})

test('a run blocks until it is over, or older than the deadline', () => {
  const now = new Date('2026-03-01T12:00:00Z')
  const run = { startedAt: new Date('2026-03-01T11:00:00Z'), over: false }
  expect(isBlocking(define({}), run, now)).toBe(true)
  expect(isBlocking(define({}), { ...run, over: true }, now)).toBe(false)
  expect(isBlocking(define({}), undefined, now)).toBe(false)
  expect(isBlocking(define({ overlap: 'allow' }), run, now)).toBe(false)
  expect(isBlocking(define({ deadline: '2h' }), run, now)).toBe(true)
  expect(isBlocking(define({ deadline: '30m' }), run, now)).toBe(false)
})
