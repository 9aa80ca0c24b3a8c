import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  lastTicks,
  nextTick,
  ticksBetween,
  type Calendar,
  type ClockChange,
} from '../../../src/patterns/schedules/calendar.ts'
import { defineWindow } from '../../../src/runtime/window.ts'
import { agreesWithSlowTicks } from './agreement.ts'
import { slowTicks } from './reference.ts'

const minutes = (dates: readonly Date[]): string[] => dates.map((date) => `${date.toISOString().slice(0, 16)}Z`)

const hoursAfter = (after: string, hours: number): Date => new Date(Date.parse(after) + hours * 3_600_000)

/** Zone, pattern, after, hours to look at, ticks. Most of them around a change of the clocks of that zone. */
const table: [string, string, string, number, string[]][] = [
  ['Europe/Berlin', '30 2 * * *', '2025-03-29T22:59Z', 24, ['2025-03-30T01:00Z']],
  ['Europe/Berlin', '30 2 * * *', '2025-10-25T21:59Z', 24, ['2025-10-26T00:30Z']],
  [
    'Europe/Berlin',
    '0 * * * *',
    '2025-03-29T22:59Z',
    5,
    ['2025-03-29T23:00Z', '2025-03-30T00:00Z', '2025-03-30T01:00Z', '2025-03-30T02:00Z', '2025-03-30T03:00Z'],
  ],
  [
    'Europe/Berlin',
    '0 * * * *',
    '2025-10-25T21:59Z',
    5,
    ['2025-10-25T22:00Z', '2025-10-25T23:00Z', '2025-10-26T00:00Z', '2025-10-26T01:00Z', '2025-10-26T02:00Z'],
  ],
  ['Europe/Berlin', '*/30 2 * * *', '2025-03-29T22:59Z', 24, ['2025-03-30T01:00Z']],
  ['Europe/Berlin', '*/30 2 * * *', '2025-10-25T21:59Z', 24, ['2025-10-26T00:00Z', '2025-10-26T00:30Z']],
  ['Europe/Berlin', '0,30 2,3 * * *', '2025-03-29T22:59Z', 24, ['2025-03-30T01:00Z', '2025-03-30T01:30Z']],
  ['Europe/London', '30 1 * * *', '2025-03-29T23:59Z', 24, ['2025-03-30T01:00Z']],
  ['Europe/London', '30 1 * * *', '2025-10-25T22:59Z', 24, ['2025-10-26T00:30Z']],
  ['Europe/Lisbon', '0 1 * * *', '2024-03-30T23:59Z', 24, ['2024-03-31T01:00Z']],
  ['Atlantic/Azores', '30 0 * * *', '2024-03-31T00:59Z', 24, ['2024-03-31T01:00Z', '2024-04-01T00:30Z']],
  ['Europe/Dublin', '15 1 * * *', '2024-10-26T22:59Z', 24, ['2024-10-27T00:15Z']],
  ['Europe/Athens', '30 3 * * *', '2024-03-30T21:59Z', 24, ['2024-03-31T01:00Z']],
  ['Europe/Athens', '30 3 * * *', '2024-10-26T20:59Z', 24, ['2024-10-27T00:30Z']],
  ['Europe/Moscow', '30 1 * * *', '2014-10-25T20:59Z', 24, ['2014-10-25T21:30Z']],
  ['America/New_York', '30 2 * * *', '2025-03-09T04:59Z', 24, ['2025-03-09T07:00Z']],
  ['America/New_York', '30 1 * * *', '2025-11-02T03:59Z', 24, ['2025-11-02T05:30Z']],
  ['America/Chicago', '0 2 * * *', '2025-03-09T05:59Z', 24, ['2025-03-09T08:00Z']],
  ['America/Denver', '59 1 * * *', '2024-11-03T05:59Z', 24, ['2024-11-03T07:59Z']],
  ['America/Los_Angeles', '15 2 * * 0', '2024-03-10T07:59Z', 24, ['2024-03-10T10:00Z']],
  ['America/Phoenix', '30 2 * * *', '2025-03-09T06:59Z', 24, ['2025-03-09T09:30Z']],
  ['America/Halifax', '45 1 * * *', '2024-11-03T02:59Z', 24, ['2024-11-03T04:45Z']],
  ['America/St_Johns', '30 2 * * *', '2024-03-10T03:29Z', 24, ['2024-03-10T05:30Z']],
  ['America/St_Johns', '15 1 * * *', '2024-11-03T02:29Z', 24, ['2024-11-03T03:45Z']],
  ['America/Havana', '30 0 * * *', '2024-03-10T04:59Z', 24, ['2024-03-10T05:00Z', '2024-03-11T04:30Z']],
  ['America/Havana', '30 0 * * *', '2024-11-03T03:59Z', 24, ['2024-11-03T04:30Z']],
  ['America/Santiago', '0 0 * * *', '2023-09-03T03:59Z', 24, ['2023-09-03T04:00Z', '2023-09-04T03:00Z']],
  ['America/Santiago', '30 23 * * *', '2024-04-06T02:59Z', 48, ['2024-04-07T02:30Z']],
  ['America/Sao_Paulo', '0 0 * * *', '2018-11-04T02:59Z', 24, ['2018-11-04T03:00Z', '2018-11-05T02:00Z']],
  ['America/Sao_Paulo', '30 23 * * *', '2019-02-16T01:59Z', 48, ['2019-02-17T01:30Z']],
  ['America/Caracas', '45 2 * * *', '2016-05-01T04:29Z', 24, ['2016-05-01T07:00Z']],
  ['Australia/Sydney', '30 2 * * *', '2024-10-05T12:59Z', 24, ['2024-10-05T16:00Z']],
  ['Australia/Sydney', '30 2 * * *', '2025-04-05T13:59Z', 24, ['2025-04-05T15:30Z']],
  ['Australia/Adelaide', '10 2 * * *', '2024-10-05T13:29Z', 24, ['2024-10-05T16:30Z']],
  ['Australia/Brisbane', '30 2 * * *', '2024-10-05T13:59Z', 24, ['2024-10-05T16:30Z']],
  ['Australia/Lord_Howe', '15 2 * * *', '2024-10-05T12:59Z', 24, ['2024-10-05T15:30Z']],
  ['Australia/Lord_Howe', '45 1 * * *', '2025-04-05T13:29Z', 24, ['2025-04-05T14:45Z']],
  [
    'Australia/Lord_Howe',
    '15 * * * *',
    '2024-10-05T12:59Z',
    4,
    ['2024-10-05T13:45Z', '2024-10-05T14:45Z', '2024-10-05T16:15Z'],
  ],
  ['Pacific/Auckland', '30 2 * * *', '2024-09-28T10:59Z', 24, ['2024-09-28T14:00Z']],
  ['Pacific/Auckland', '30 2 * * *', '2025-04-05T11:59Z', 24, ['2025-04-05T13:30Z']],
  ['Pacific/Chatham', '0 3 * * *', '2024-09-28T10:14Z', 24, ['2024-09-28T14:00Z']],
  ['Pacific/Chatham', '30 3 * * *', '2025-04-05T11:14Z', 24, ['2025-04-05T13:45Z']],
  [
    'Pacific/Apia',
    '0 12 * * *',
    '2011-12-29T09:59Z',
    72,
    ['2011-12-29T22:00Z', '2011-12-30T10:00Z', '2011-12-30T22:00Z', '2011-12-31T22:00Z'],
  ],
  ['Africa/Casablanca', '30 2 * * *', '2024-04-13T23:59Z', 24, ['2024-04-14T02:00Z']],
  ['Africa/Casablanca', '30 2 * * *', '2024-03-09T22:59Z', 24, ['2024-03-10T01:30Z']],
  ['Asia/Beirut', '15 0 * * *', '2022-03-26T20:59Z', 24, ['2022-03-26T22:00Z']],
  ['Asia/Tehran', '30 0 * * *', '2022-03-21T19:29Z', 24, ['2022-03-21T20:30Z']],
  ['Asia/Kolkata', '30 2 * * *', '2024-03-30T18:29Z', 24, ['2024-03-30T21:00Z']],
  ['Asia/Kathmandu', '0 0 * * *', '2024-03-30T18:14Z', 24, ['2024-03-30T18:15Z']],
  ['Asia/Pyongyang', '45 23 * * *', '2018-05-03T15:29Z', 24, ['2018-05-04T15:00Z']],
  ['Antarctica/Troll', '30 1 * * *', '2024-03-30T23:59Z', 24, ['2024-03-31T01:00Z', '2024-03-31T23:30Z']],
  ['Antarctica/Troll', '30 1 * * *', '2024-10-26T21:59Z', 24, ['2024-10-26T23:30Z']],
  ['UTC', '30 2 * * *', '2025-03-29T23:59Z', 24, ['2025-03-30T02:30Z']],
  ['Europe/Berlin', '0 12 29 2 *', '2024-02-27T22:59Z', 72, ['2024-02-29T11:00Z']],
  ['Europe/Berlin', '0 0 1 * 1', '2024-03-30T22:59Z', 48, ['2024-03-31T22:00Z']],
]

/** The same with a rule that was chosen. */
const chosen: [ClockChange, string, string, string, number, string[]][] = [
  [{ leftOut: 'skip' }, 'Europe/Berlin', '30 2 * * *', '2025-03-29T22:59Z', 24, []],
  [
    { leftOut: 'skip' },
    'Europe/Berlin',
    '0,30 2,3 * * *',
    '2025-03-29T22:59Z',
    24,
    ['2025-03-30T01:00Z', '2025-03-30T01:30Z'],
  ],
  [{ leftOut: 'skip' }, 'America/Havana', '30 0 * * *', '2024-03-10T04:59Z', 24, ['2024-03-11T04:30Z']],
  [
    { leftOut: 'skip' },
    'Pacific/Apia',
    '0 12 * * *',
    '2011-12-29T09:59Z',
    72,
    ['2011-12-29T22:00Z', '2011-12-30T22:00Z', '2011-12-31T22:00Z'],
  ],
  [
    { leftOut: 'skip' },
    'Europe/Berlin',
    '0 * * * *',
    '2025-03-30T00:30Z',
    2,
    ['2025-03-30T01:00Z', '2025-03-30T02:00Z'],
  ],
  [{ repeated: 'second' }, 'Europe/Berlin', '30 2 * * *', '2025-10-25T21:59Z', 24, ['2025-10-26T01:30Z']],
  [
    { repeated: 'both' },
    'Europe/Berlin',
    '30 2 * * *',
    '2025-10-25T21:59Z',
    24,
    ['2025-10-26T00:30Z', '2025-10-26T01:30Z'],
  ],
  [
    { repeated: 'second' },
    'Europe/Berlin',
    '0,30 1,3 * * *',
    '2025-10-25T21:59Z',
    5,
    ['2025-10-25T23:00Z', '2025-10-25T23:30Z', '2025-10-26T02:00Z', '2025-10-26T02:30Z'],
  ],
  [{ repeated: 'second' }, 'America/New_York', '30 1 * * *', '2025-11-02T03:59Z', 24, ['2025-11-02T06:30Z']],
  [
    { repeated: 'both' },
    'Australia/Lord_Howe',
    '45 1 * * *',
    '2025-04-05T13:29Z',
    24,
    ['2025-04-05T14:45Z', '2025-04-05T15:15Z'],
  ],
  [{ repeated: 'second' }, 'Antarctica/Troll', '30 1 * * *', '2024-10-26T21:59Z', 24, ['2024-10-27T01:30Z']],
  [{ leftOut: 'skip', repeated: 'both' }, 'UTC', '30 2 * * *', '2025-03-29T23:59Z', 24, ['2025-03-30T02:30Z']],
]

describe('when clocks are changed', () => {
  test.each(table)('%s, %s, from %s for %i hours', (zone, cron, after, hours, expected) => {
    const [from, to] = [new Date(after), hoursAfter(after, hours)]
    expect(minutes(ticksBetween({ rule: { cron }, zone }, from, to))).toEqual(expected)
    // The table is what the rules say, not what somebody once saw.
    expect(minutes(slowTicks({ rule: { cron }, zone }, from, to))).toEqual(expected)
  })

  test.each(chosen)('%j: %s, %s, from %s for %i hours', (clockChange, zone, cron, after, hours, expected) => {
    const calendar = { rule: { cron }, zone, clockChange }
    const [from, to] = [new Date(after), hoursAfter(after, hours)]
    expect(minutes(ticksBetween(calendar, from, to))).toEqual(expected)
    expect(minutes(slowTicks(calendar, from, to))).toEqual(expected)
  })

  test('what is shown a second time is waited for also by those who look before the change', () => {
    const calendar: Calendar = {
      rule: { cron: '30 2 * * *' },
      zone: 'Europe/Berlin',
      clockChange: { repeated: 'second' },
    }
    expect(ticksBetween(calendar, new Date('2025-10-25T22:00Z'), new Date('2025-10-26T00:30Z'))).toEqual([])
    expect(nextTick(calendar, new Date('2025-10-26T00:30Z'))).toEqual(new Date('2025-10-26T01:30Z'))
  })

  test('the table has rows enough, and zones of all kinds', () => {
    expect(table.length).toBeGreaterThanOrEqual(40)
    expect(new Set(table.map(([zone]) => zone)).size).toBeGreaterThan(25)
  })

  test('any pattern, zone and moment have the ticks that the slow way finds', () => {
    fc.assert(agreesWithSlowTicks, { numRuns: 60 })
  })
})

const hourly: Calendar = { rule: { cron: '0 * * * *' }, zone: 'UTC' }
const at = (text: string): Date => new Date(`2026-03-01T${text}Z`)

describe('ticks', () => {
  test('are those after one moment, up to and with another', () => {
    expect(minutes(ticksBetween(hourly, at('01:00:00'), at('03:00:00')))).toEqual([
      '2026-03-01T02:00Z',
      '2026-03-01T03:00Z',
    ])
    expect(ticksBetween(hourly, at('01:00:00'), at('01:59:59.999'))).toEqual([])
    expect(ticksBetween(hourly, at('03:00:00'), at('01:00:00'))).toEqual([])
  })

  test('come every second, too, and in seconds of the minute', () => {
    const secondly: Calendar = { rule: { cron: '* * * * * *' }, zone: 'Europe/Berlin' }
    expect(ticksBetween(secondly, at('01:00:00.500'), at('01:00:03'))).toEqual([
      at('01:00:01'),
      at('01:00:02'),
      at('01:00:03'),
    ])
    const some: Calendar = { rule: { cron: '15,45 * * * * *' }, zone: 'UTC' }
    expect(nextTick(some, at('01:00:15'))).toEqual(at('01:00:45'))
  })

  test('come evenly, the same in every process', () => {
    const every: Calendar = { rule: { everyMs: 15 * 60_000 }, zone: 'UTC' }
    expect(ticksBetween(every, at('00:14:00'), at('00:45:00'))).toEqual([
      at('00:15:00'),
      at('00:30:00'),
      at('00:45:00'),
    ])
  })

  test('of the last days are found without going through all of them', () => {
    const secondly: Calendar = { rule: { cron: '* * * * * *' }, zone: 'UTC' }
    const span = { after: at('00:00:00'), upTo: new Date('2026-04-01T00:00:00.500Z') }
    expect(lastTicks(secondly, span, 2)).toEqual([new Date('2026-03-31T23:59:59Z'), new Date('2026-04-01T00:00:00Z')])
    expect(lastTicks(hourly, { after: at('00:30:00'), upTo: at('02:30:00') }, 10)).toEqual([
      at('01:00:00'),
      at('02:00:00'),
    ])
  })

  test('that are years away are found at once', () => {
    const leap: Calendar = { rule: { cron: '30 2 29 2 *' }, zone: 'Europe/Berlin' }
    expect(nextTick(leap, at('00:00:00'))).toEqual(new Date('2028-02-29T01:30:00Z'))
  })

  test('are inside of the window', () => {
    const window = defineWindow('22:00-00:00 UTC')
    const windowed: Calendar = { rule: { cron: '30 * * * *' }, zone: 'UTC', window }
    expect(ticksBetween(windowed, at('00:00:00'), at('23:59:00'))).toEqual([at('22:30:00'), at('23:30:00')])
    expect(nextTick({ ...windowed, rule: { cron: '0 12 * * *' } }, at('00:00:00'))).toBeUndefined()
  })
})
