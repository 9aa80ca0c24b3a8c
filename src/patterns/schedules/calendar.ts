/**
 * Decision: the cron library is asked only about clocks that never change, as if the zone were UTC. What daylight
 * saving time does to the result is decided in this file, so the rule is ours, and tests compare it with a slow, simple
 * one.
 */
import { Cron } from 'croner'
import { nextChange, offsetAt } from '../../std/zone.ts'
import { isOpen, nextOpening, type Window } from '../../runtime/window.ts'

/** What becomes of times of day that clocks leave out, or show twice, when they are changed. */
export interface ClockChange {
  /** Clocks go forward over it: `'run'` once at the change, or `'skip'` that day. Default: `'run'`. */
  leftOut?: 'run' | 'skip'
  /** Clocks go back over it: the `'first'` time, the `'second'`, or `'both'`. Default: `'first'`. */
  repeated?: 'first' | 'second' | 'both'
}

/** When a schedule is due, as data. */
export interface Calendar {
  /** A cron pattern, or a span of time between ticks. */
  readonly rule: { readonly cron: string } | { readonly everyMs: number }
  readonly zone: string
  /** Moments outside of it are no ticks. */
  readonly window?: Window | undefined
  readonly clockChange?: ClockChange | undefined
}

/**
 * The ticks in (after, upTo], in order, `limit` at most.
 *
 * A cron pattern is about what clocks show, and in most zones clocks are changed twice a year. A time of day that is
 * left out runs once, at the change; one that comes twice runs once, the first time; `clockChange` may say otherwise. A
 * pattern that runs in every hour is about hours that pass: none is left out, and one that clocks show twice is two.
 */
export function ticksBetween(calendar: Calendar, after: Date, upTo: Date, limit = Number.POSITIVE_INFINITY): Date[] {
  const found: Date[] = []
  for (const tick of ticksFrom(calendar, after.getTime(), upTo.getTime())) {
    if (found.length >= limit) break
    found.push(new Date(tick))
  }
  return found
}

/** The first tick after a moment; undefined when none comes within a lifetime, or a decade where there is a window. */
export function nextTick(calendar: Calendar, after: Date): Date | undefined {
  return nextTicks(calendar, after, 1)[0]
}

/** The first ticks after a moment, as far as they come within such a time. */
export function nextTicks(calendar: Calendar, after: Date, count: number): Date[] {
  const horizonMs = (calendar.window === undefined ? 100 : 12) * 366 * dayMs
  return ticksBetween(calendar, after, new Date(after.getTime() + horizonMs), count)
}

/** The last ticks in (after, upTo], in order: looked for from the end, as there may be millions of them. */
export function lastTicks(calendar: Calendar, span: { after: Date; upTo: Date }, count: number): Date[] {
  const [first, last] = [span.after.getTime(), span.upTo.getTime()]
  for (let widthMs = 60_000; ; widthMs *= 4) {
    const from = Math.max(first, last - widthMs)
    const found = ticksBetween(calendar, new Date(from), span.upTo)
    if (found.length >= count || from === first) return found.slice(-count)
  }
}

function* ticksFrom(calendar: Calendar, after: number, upTo: number): Generator<number> {
  const { window } = calendar
  for (let from = after; from < upTo;) {
    const closedAt = yield* ticksWhileOpen(calendar, { after: from, upTo })
    const opens = closedAt === undefined || window === undefined ? null : nextOpening(window, new Date(closedAt))
    if (opens === null) return
    from = opens.getTime() - 1
  }
}

/** The ticks up to the first one outside of the window, which it returns. */
function* ticksWhileOpen(calendar: Calendar, span: Span): Generator<number, number | undefined> {
  const { rule, window } = calendar
  for (const tick of 'cron' in rule ? cronTicks(rule.cron, calendar, span) : evenTicks(rule.everyMs, span)) {
    if (window !== undefined && !isOpen(window, new Date(tick))) return tick
    yield tick
  }
  return undefined
}

interface Span {
  after: number
  upTo: number
}

/** Counted from the beginning of 1970, so that every process has the same ticks. */
function* evenTicks(everyMs: number, { after, upTo }: Span): Generator<number> {
  for (let tick = (Math.floor(after / everyMs) + 1) * everyMs; tick <= upTo; tick += everyMs) yield tick
}

function* cronTicks(pattern: string, { zone, clockChange = {} }: Calendar, span: Span): Generator<number> {
  const cron = new Cron(pattern, { utcOffset: 0, paused: true })
  const { leftOut = 'run', repeated = 'first' } = clockChange
  if (runsEveryHour(pattern)) return yield* walkTicks(cron, { zone, catchUp: false, once: false }, span)
  const ticks = walkTicks(cron, { zone, catchUp: leftOut === 'run', once: repeated === 'first' }, span)
  for (const tick of ticks) if (repeated !== 'second' || !isShownAgain(zone, tick)) yield tick
}

/** How to treat changes of the clocks: run at the change what it leaves out, pass over what was shown before. */
interface Manner {
  zone: string
  catchUp: boolean
  once: boolean
}

/**
 * Goes from one change of the clocks to the next: in between, what clocks show and time differ by a constant. Times
 * that clocks show are numbers as if the zone were UTC, and so is all that the pattern is asked about.
 */
function* walkTicks(cron: Cron, { zone, catchUp, once }: Manner, { after, upTo }: Span): Generator<number> {
  let walk = beginAt(zone, after, once)
  for (;;) {
    const due = firstShown(cron, Math.max(walk.start + walk.offset, walk.shownTo))
    if (due === undefined || due - walk.offset > upTo + 2 * dayMs) return
    if (due - walk.offset - walk.start > 4 * dayMs) {
      walk = beginAt(zone, due - walk.offset - 2 * dayMs, once)
      continue
    }
    const end = Math.min(upTo, Math.max(walk.start, due - walk.offset) + dayMs)
    const change = nextChange(zone, walk.changed, end)
    yield* shownIn(cron, walk, change ?? end + 1)
    if (change === undefined) {
      if (end === upTo) return
      walk = { ...walk, start: end + 1, changed: end }
      continue
    }
    const offset = offsetAt(zone, change)
    if (catchUp && isLeftOut(cron, change + walk.offset, change + offset)) yield change
    const shownTo = offset < walk.offset && once ? change + walk.offset : never
    walk = { start: change, changed: change, offset, shownTo }
  }
}

/** Whether clocks go back soon over what they show now. */
function isShownAgain(zone: string, at: number): boolean {
  const change = nextChange(zone, at, at + 26 * hourMs)
  return change !== undefined && at + offsetAt(zone, at) >= change + offsetAt(zone, change)
}

/** Where the walk is: every moment before `start` is done, and the clocks go by `offset`. */
interface Walk {
  start: number
  /** Changes of the clocks up to here are in `offset`. */
  changed: number
  offset: number
  /** What clocks show before this they have shown before. */
  shownTo: number
}

const dayMs = 86_400_000
const hourMs = 3_600_000
const never = Number.NEGATIVE_INFINITY

function beginAt(zone: string, after: number, once: boolean): Walk {
  const offset = offsetAt(zone, after)
  const change = once ? nextChange(zone, after - 26 * hourMs, after) : undefined
  const before = change === undefined ? offset : offsetAt(zone, change - 1)
  const shownTo = change !== undefined && before > offset ? change + before : never
  return { start: after + 1, changed: after, offset, shownTo }
}

/** The ticks of one stretch between two changes, up to and without `end`. */
function* shownIn(cron: Cron, { start, offset, shownTo }: Walk, end: number): Generator<number> {
  let shown = firstShown(cron, Math.max(start + offset, shownTo))
  for (; shown !== undefined && shown < end + offset; shown = firstShown(cron, shown + 1)) yield shown - offset
}

/** Whether clocks that jump leave a time of the pattern out, and do not jump right to one. */
function isLeftOut(cron: Cron, from: number, to: number): boolean {
  if (to <= from) return false
  const first = firstShown(cron, from)
  return first !== undefined && first < to && firstShown(cron, to) !== to
}

/** The first time of the pattern from this one on. */
function firstShown(cron: Cron, from: number): number | undefined {
  return cron.nextRun(new Date(from - 1))?.getTime()
}

const nicknames: Record<string, boolean> = { '@hourly': true }

function runsEveryHour(pattern: string): boolean {
  const fields = pattern.trim().split(/\s+/)
  const hour = fields.length === 5 ? fields[1] : fields[2]
  return nicknames[pattern.trim().toLowerCase()] ?? ['*', '?', '*/1', '0-23'].includes(hour ?? '')
}
