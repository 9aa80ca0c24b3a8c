/**
 * Windows: the hours in which work may run.
 *
 * The model. A window opens at a time of day, on some days of the week or on all, and closes at another time of day,
 * which may be on the next day. What it says about days (which ones, which not) is about the day on which it opens.
 *
 * The invariants. Whether a window is open is a function of the window and a moment, and the moment is the database's.
 * When clocks are changed, a time that is left out is the moment of the change, and a time that comes twice is the
 * first of the two; so a window closes rather early than late.
 *
 * Work looks between two small steps whether its window is still open. Nothing has to be told when it closes, so
 * nothing can be missed, whoever dies.
 *
 * Decision: the fence of each sub-batch returns the window and the time of the database, and a worker that finds the
 * window closed gives its batch back. An operation that has not begun stays queued and leaves its table to others.
 */
import { SluiceError } from '../errors.ts'
import { quoted } from '../std/storable.ts'
import { didYouMean } from '../std/suggest.ts'
import { isZone, momentOf, wallAt } from '../std/zone.ts'

const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const

export type Weekday = (typeof weekdays)[number]

/** A window with all that can be said about it. */
interface WindowParts {
  /** When it opens, such as `'22:00'`. */
  from: string
  /** When it closes, such as `'06:00'`; up to `'24:00'`. Not after `from`: on the next day. */
  to: string
  /** Whose clocks. Default: UTC. */
  zone?: string
  /** The days on which it opens. Default: all. */
  days?: readonly Weekday[]
  /** Days on which it does not open after all, such as holidays; called with the date, as in `'2026-12-25'`. */
  except?: (date: string) => boolean
}

/** A window as people write it: `'00:00-06:00 Europe/Berlin'`, `'sat,sun 00:00-24:00'`, or its parts. */
export type WindowSpec = string | WindowParts

/** A window that was checked. */
export interface Window {
  readonly zone: string
  /** Minutes of the day. */
  readonly from: number
  readonly to: number
  readonly days: ReadonlySet<Weekday>
  readonly except: ((date: string) => boolean) | undefined
  /** Everything but `except`, in the form that {@link defineWindow} reads. */
  readonly text: string
}

/**
 * Checks a window. Refuses one that never opens or has no end.
 *
 * @example
 * ```ts
 * import { defineWindow, isOpen, nextOpening } from 'sluice'
 *
 * const night = defineWindow({ from: '22:00', to: '06:00', zone: 'Europe/Berlin', days: ['mon', 'tue', 'wed', 'thu'] })
 * if (!isOpen(night, new Date())) console.log('closed until', nextOpening(night, new Date()))
 * ```
 */
export function defineWindow(spec: WindowSpec): Window {
  const parts = typeof spec === 'string' ? partsOf(spec) : spec
  if (typeof parts !== 'object' || parts === null) throw invalid(spec, 'it must be a text or an object')
  for (const key of Object.keys(parts)) {
    if (!options.includes(key)) throw invalid(spec, `there is no option "${key}".${didYouMean(key, options)}`)
  }
  const { zone = 'UTC', days = weekdays, except } = parts
  if (!isZone(zone)) throw invalid(spec, `${quoted(zone)} is not a time zone`)
  const [from, to] = [minutesOf(parts.from), minutesOf(parts.to)]
  if (from === undefined || from === 1_440) throw invalid(spec, '"from" must be a time of day such as "22:00"')
  if (to === undefined) throw invalid(spec, '"to" must be a time of day such as "06:00", or "24:00"')
  if (from === to) throw invalid(spec, 'it opens and closes at the same time; for whole days write "00:00-24:00"')
  const chosen = new Set(days)
  if (chosen.size === 0 || [...chosen].some((day) => !weekdays.includes(day))) {
    throw invalid(spec, `"days" must be some of ${weekdays.join(', ')}`)
  }
  if (except !== undefined && typeof except !== 'function') throw invalid(spec, '"except" must be a function of a date')
  const list = weekdays.filter((day) => chosen.has(day)).join(',')
  const text = `${chosen.size === 7 ? '' : `${list} `}${clock(from)}-${clock(to)} ${zone}`
  return { zone, from, to, days: chosen, except, text }
}

/** Whether a window is open at a moment. */
export function isOpen(window: Window, now: Date): boolean {
  const today = dayAt(window.zone, now)
  return [today - dayMs, today].some((day) => {
    const { opens, closes } = openingOf(window, day)
    return opens <= now.getTime() && now.getTime() < closes && opensOn(window, day)
  })
}

/** When a window is open next: the moment itself when it is; null when it does not open within a year. */
export function nextOpening(window: Window, now: Date): Date | null {
  if (isOpen(window, now)) return now
  const today = dayAt(window.zone, now)
  for (let day = today; day <= today + 366 * dayMs; day += dayMs) {
    const { opens, closes } = openingOf(window, day)
    if (opens > now.getTime() && closes > opens && opensOn(window, day)) return new Date(opens)
  }
  return null
}

/** Why work waits, in words: `outside its window, until 00:00 Europe/Berlin`. */
export function closedReason(window: Window, now: Date): string {
  const next = nextOpening(window, now)
  if (next === null) return `outside its window (${window.text}), which does not open within a year`
  const wall = wallAt(window.zone, next.getTime())
  const shown = new Date(wall).toISOString()
  const days = Math.round((startOfDay(wall) - dayAt(window.zone, now)) / dayMs)
  const day = days <= 1 ? '' : days < 7 ? `${weekdayOf(wall)} ` : `${shown.slice(0, 10)} `
  return `outside its window, until ${day}${shown.slice(11, 16)} ${window.zone}`
}

const options = ['from', 'to', 'zone', 'days', 'except']
const dayMs = 86_400_000

/** Days are the midnights that clocks show, as numbers as if the zone were UTC. */
function openingOf({ zone, from, to }: Window, day: number): { opens: number; closes: number } {
  const end = day + (to > from ? 0 : dayMs) + to * 60_000
  return { opens: momentOf(zone, day + from * 60_000), closes: momentOf(zone, end) }
}

function opensOn({ days, except }: Window, day: number): boolean {
  return days.has(weekdayOf(day)) && !isExcepted(except, new Date(day).toISOString().slice(0, 10))
}

function isExcepted(except: Window['except'], date: string): boolean {
  try {
    return except?.(date) === true
  } catch {
    // Who cannot say that a day is free does not say so: closed is the safe side.
    return true
  }
}

function dayAt(zone: string, at: Date): number {
  return startOfDay(wallAt(zone, at.getTime()))
}

function startOfDay(wall: number): number {
  return Math.floor(wall / dayMs) * dayMs
}

function weekdayOf(wall: number): Weekday {
  return weekdays[new Date(wall).getUTCDay()] ?? 'sun'
}

function partsOf(text: string): WindowParts {
  const match = /^(?:([a-z, -]+?) +)?(\d{1,2}:\d\d) ?[-–] ?(\d{1,2}:\d\d)(?: +(\S+))?$/i.exec(text.trim())
  const [, days, from, to, zone] = match ?? []
  if (from === undefined || to === undefined) {
    throw invalid(text, 'write it as in "00:00-06:00 Europe/Berlin" or "mon-fri 22:00-06:00"')
  }
  return {
    from,
    to,
    ...(zone === undefined ? {} : { zone }),
    ...(days === undefined ? {} : { days: daysOf(text, days) }),
  }
}

/** `mon,wed` or `mon-fri`, also mixed. */
function daysOf(text: string, list: string): Weekday[] {
  return list.split(',').flatMap((item) => {
    const [first, last, more] = item
      .trim()
      .toLowerCase()
      .split('-')
      .map((day) => weekdays.indexOf(day.trim() as Weekday))
    if (first === undefined || first < 0 || last === -1 || more !== undefined) {
      throw invalid(text, `the days must be some of ${weekdays.join(', ')}, as in "mon-fri" or "sat,sun"`)
    }
    const count = last === undefined ? 1 : ((last - first + 7) % 7) + 1
    return Array.from({ length: count }, (_, i) => weekdays[(first + i) % 7] ?? 'sun')
  })
}

function minutesOf(time: unknown): number | undefined {
  const [, hour, minute] = /^(\d{1,2}):(\d\d)$/.exec(typeof time === 'string' ? time : '') ?? []
  const minutes = Number(hour) * 60 + Number(minute)
  return Number(minute) < 60 && minutes <= 1_440 ? minutes : undefined
}

function clock(minutes: number): string {
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
}

function invalid(spec: unknown, problem: string): SluiceError {
  const shown = typeof spec === 'string' ? ` ${quoted(spec)}` : ''
  return new SluiceError('WINDOW_INVALID', {
    message: `The window${shown} cannot be used: ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
    details: { problem },
  })
}
