import { isCalm, isWorse, type Signal } from './signal.ts'

/** A stop for a signal, until it has been calm for a while. */
export interface Hold {
  probe: string
  sinceMs: number
  /** Readings in a row at which all signals were calm. */
  calm: number
  /** The value when the hold was last found to help, and when that was. */
  mark: { value: number | undefined; atMs: number }
}

/** Leaving a hold takes so many calm readings in a row. */
const calmReadings = 3
const shortestWaitMs = 5_000
const longestWaitMs = 600_000
/** A value that has become better by less than this has not become better. */
const improvement = 0.05

/** How a hold goes on with the next readings: `held`, `over`, or `futile`, when pausing has not helped for long. */
export function reviewHold(
  hold: Hold,
  signals: readonly Signal[],
  { nowMs, patienceMs }: { nowMs: number; patienceMs: number },
): { next: 'held' | 'over' | 'futile'; hold: Hold } {
  const calm = signals.every(isAtEase) ? hold.calm + 1 : 0
  if (calm >= calmReadings) return { next: 'over', hold }
  const cause = signals.find(({ name }) => name === hold.probe)
  const value = cause?.stale === true ? undefined : cause?.value
  const improved = cause !== undefined && hasImproved(cause, hold.mark.value, value)
  const mark = improved ? { value, atMs: nowMs } : hold.mark
  const futile = cause?.yields === true && calm === 0 && value !== undefined && nowMs - mark.atMs >= patienceMs
  return { next: futile ? 'futile' : 'held', hold: { ...hold, calm, mark } }
}

/** Whether a signal lets a hold end: what cannot be read does not, if it matters. */
function isAtEase(signal: Signal): boolean {
  if (signal.effect !== 'hold') return true
  if (signal.kind === 'budget' && signal.stale) return false
  return signal.value === undefined || isCalm(signal.value, signal)
}

function hasImproved(signal: Signal, before: number | undefined, now: number | undefined): boolean {
  if (now === undefined) return false
  if (before === undefined) return true
  const step = Math.abs(before) * improvement
  return isWorse(before, signal.soft <= signal.hard ? now + step : now - step, signal)
}

/** How long to wait before the next look at a hold: longer each time, and never at the same moment as others. */
export function holdWaitMs(previousMs: number | undefined, random: number): number {
  const upper = Math.max(shortestWaitMs, 3 * (previousMs ?? shortestWaitMs))
  return Math.round(Math.min(longestWaitMs, shortestWaitMs + random * (upper - shortestWaitMs)))
}
