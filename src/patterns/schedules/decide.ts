import { lastTicks, ticksBetween } from './calendar.ts'
import type { ScheduleDefinition } from './define.ts'

/** What is to be done next for a schedule. */
export interface Step {
  /** The tick to settle. */
  tick: Date
  /** Ticks before it that nobody was there for, and that are passed over; counted up to a thousand. */
  missed: number
  /** It comes too late to be run. */
  late: boolean
}

/** A tick this old counts as missed under `missed: 'skip'`: restarts and short breaks are no reason to skip. */
const graceMs = 60_000
const mostCounted = 1_000

/**
 * The next tick to settle, of those after the last one that was considered and up to now. `missed` says how many of
 * them are worth a run; the earlier ones are passed over.
 */
export function decide(
  { calendar, missed, delayMs }: Pick<ScheduleDefinition, 'calendar' | 'missed' | 'delayMs'>,
  { consideredTo, now }: { consideredTo: Date; now: Date },
): Step | undefined {
  const upTo = new Date(now.getTime() - delayMs)
  if (upTo <= consideredTo) return undefined
  const count = typeof missed === 'object' ? missed.all : 1
  const [tick] = lastTicks(calendar, { after: consideredTo, upTo }, count)
  if (tick === undefined) return undefined
  const before = new Date(tick.getTime() - 1)
  return {
    tick,
    missed: ticksBetween(calendar, consideredTo, before, mostCounted).length,
    late: missed === 'skip' && upTo.getTime() - tick.getTime() > graceMs,
  }
}

/** What ran last, as far as it may stand in the way of the next. */
export interface LastRun {
  startedAt: Date
  over: boolean
}

/** Whether the last run stands in the way of the next. */
export function isBlocking(
  { overlap, deadlineMs }: Pick<ScheduleDefinition, 'overlap' | 'deadlineMs'>,
  run: LastRun | undefined,
  now: Date,
): boolean {
  if (overlap === 'allow' || run === undefined || run.over) return false
  return deadlineMs === undefined || now.getTime() - run.startedAt.getTime() <= deadlineMs
}
