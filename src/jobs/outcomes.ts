import { parseDuration, type Duration } from '../std/duration.ts'
import { storable } from '../std/storable.ts'

const longestMs = 3_660 * 86_400_000

/** What `perform` may return instead of nothing. Made by {@link snooze}, {@link cancel} and {@link leave}. */
export class JobOutcome {
  readonly kind: 'snooze' | 'cancel' | 'leave'
  readonly reason: string
  readonly delayMs: number

  constructor(kind: JobOutcome['kind'], { reason, delayMs }: { reason: string; delayMs: number }) {
    this.kind = kind
    this.reason = reason
    this.delayMs = delayMs
  }
}

/** Not now: run the job again after a while. It is no failure and counts as no attempt. */
export function snooze(wait: Duration, reason = 'snoozed'): JobOutcome {
  const delayMs = parseDuration(wait)
  if (delayMs === undefined || delayMs > longestMs) {
    throw new TypeError(`snooze takes a time such as "30s", ten years at most, not ${storable(wait, 100)}`)
  }
  return new JobOutcome('snooze', { reason, delayMs })
}

/** Not any more: end the job, and keep the reason. */
export function cancel(reason: string): JobOutcome {
  return new JobOutcome('cancel', { reason, delayMs: 0 })
}

/** Nothing to do: the job has succeeded without its work, and an event (`job.left`) says why. */
export function leave(reason = 'nothing to do'): JobOutcome {
  return new JobOutcome('leave', { reason, delayMs: 0 })
}

/** The attempt took longer than the job's `timeout`. */
export class JobTimeout extends Error {
  override readonly name = 'JobTimeout'
}
