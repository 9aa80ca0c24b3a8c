// The slow way to the same answer, without the parser and the arithmetic of the product: one step per minute, and the
// clocks as Intl shows them. Clocks are changed on a quarter of an hour, so Intl is asked once for each.

import type { Calendar } from '../../../src/patterns/schedules/calendar.ts'

const minute = 60_000
const formats = new Map<string, Intl.DateTimeFormat>()

const quarter = 15 * minute
const quarters = new Map<string, number>()

/** What clocks of a zone show, as minutes since 1970 as if it were UTC. */
function shownAt(zone: string, at: number): number {
  const begin = Math.floor(at / quarter) * quarter
  const key = `${zone} ${begin}`
  const shown = quarters.get(key) ?? read(zone, begin)
  quarters.set(key, shown)
  return shown + (at - begin) / minute
}

function read(zone: string, at: number): number {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
    })
  formats.set(zone, format)
  const parts = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute: minutes = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minutes) / minute
}

/** Whether a field of a pattern has a value: `*`, `5`, `1-5`, `a,b`, and all of it with a step. */
function has(field: string, value: number, least: number): boolean {
  return field.split(',').some((part) => {
    const [range = '*', step = '1'] = part.split('/')
    const [first = '', last = first] = range === '*' ? [String(least), '99'] : range.split('-')
    return value >= Number(first) && value <= Number(last) && (value - Number(first)) % Number(step) === 0
  })
}

/** Whether clocks that show this are at a time of the pattern. Days of month and week are an "or" when both are given. */
function fits(pattern: string, shown: number): boolean {
  const [minutes = '*', hours = '*', days = '*', months = '*', weekdays = '*'] = pattern.split(' ')
  const date = new Date(shown * minute)
  const day = has(days, date.getUTCDate(), 1)
  const weekday = has(weekdays, date.getUTCDay(), 0)
  const onDay = days !== '*' && weekdays !== '*' ? day || weekday : day && weekday
  return (
    onDay &&
    has(minutes, date.getUTCMinutes(), 0) &&
    has(hours, date.getUTCHours(), 0) &&
    has(months, date.getUTCMonth() + 1, 1)
  )
}

/** The ticks in (after, upTo], minute by minute. Begins a day earlier, to know what clocks have shown. */
export function slowTicks({ rule, zone, clockChange = {} }: Clocked, after: Date, upTo: Date): Date[] {
  const pattern = rule.cron
  const everyHour = pattern.split(' ')[1] === '*'
  const { leftOut, repeated } = everyHour
    ? ({ leftOut: 'skip', repeated: 'both' } as const)
    : { leftOut: 'run', repeated: 'first', ...clockChange }
  const found: Date[] = []
  const begin = Math.floor(after.getTime() / minute) * minute - 26 * 60 * minute
  let furthest = shownAt(zone, begin - minute)
  for (let at = begin; at <= upTo.getTime(); at += minute) {
    const shown = shownAt(zone, at)
    let due = fits(pattern, shown)
    if (due && repeated === 'first') due = shown > furthest
    if (due && repeated === 'second') due = !comesAgain(zone, at)
    // What clocks have jumped over runs now.
    for (let left = leftOut === 'run' ? furthest + 1 : shown; left < shown; left++) due ||= fits(pattern, left)
    furthest = Math.max(furthest, shown)
    if (due && at > after.getTime()) found.push(new Date(at))
  }
  return found
}

/** Whether clocks will show the same again within a day. */
function comesAgain(zone: string, at: number): boolean {
  const shown = shownAt(zone, at)
  for (let later = at + minute; later <= at + 26 * 60 * minute; later += minute) {
    if (shownAt(zone, later) === shown) return true
  }
  return false
}

type Clocked = Pick<Calendar, 'zone' | 'clockChange'> & { rule: { cron: string } }
