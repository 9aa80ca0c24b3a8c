import { backoffMs } from '../std/backoff.ts'
import { errorRecord } from '../std/error-record.ts'
import { storable } from '../std/storable.ts'
import { RowBusy } from '../targets/postgres/row.ts'
import type { JobDefinition, JobInfo } from './definition.ts'
import { ConnectionBroken, type Ending } from './ending.ts'
import { JobOutcome, judge } from './policy.ts'
import type { ClaimedJob } from './queue.ts'
import { ownTags } from './trace.ts'

/** Reasons may come from handlers and people. */
const maxReason = 2_000
/** 24 days: what an integer of the database holds. A job in a paused queue may have waited longer. */
const maxWaitMs = 2 ** 31 - 1

/**
 * A way to tell a handler to stop. The signal is made when somebody asks for it: most handlers never do, and a signal
 * costs more than a small job.
 */
export class Stop {
  #controller: AbortController | undefined
  #reason: Error | undefined
  #onStop: ((reason: Error) => void) | undefined

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** Why it was told to stop; undefined: it was not. */
  get reason(): Error | undefined {
    return this.#reason
  }

  /** Tells it; only the first reason counts. */
  stop(reason: Error): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#controller?.abort(reason)
    this.#onStop?.(reason)
  }

  /** What to do when it is told. */
  whenStopped(react: (reason: Error) => void): void {
    this.#onStop = react
    if (this.#reason !== undefined) react(this.#reason)
  }
}

/** A claimed job with its code: what is made for each job, and so as little as possible. */
export class Attempt {
  readonly job: ClaimedJob
  readonly claimId: string
  readonly definition: JobDefinition
  readonly queue: string
  readonly waitMs: number
  readonly clockMs: number
  readonly stop: Stop = new Stop()
  /** When its handler began, on the monotonic clock; without the time in which it waited for a connection. */
  since = 0
  /** It waits for a connection, and its time does not run. */
  waiting = false
  /** Its end is known; what its handler still does is nobody's business. */
  ended = false

  constructor(job: ClaimedJob, { claimId, definition, queue, now, clockMs }: Origin) {
    this.job = job
    this.claimId = claimId
    this.definition = definition
    this.queue = queue
    this.clockMs = clockMs
    this.waitMs = Math.min(maxWaitMs, Math.max(0, Math.round(now - job.runAt)))
  }

  get info(): JobInfo {
    const { id, attempt, tags, enqueuedAt, runAt } = this.job
    return {
      id,
      name: this.definition.name,
      queue: this.queue,
      attempt,
      tags: ownTags(tags),
      enqueuedAt: new Date(enqueuedAt ?? runAt),
      idempotencyKey: `job:${id}`,
    }
  }
}

/** Where an attempt comes from. */
interface Origin {
  claimId: string
  definition: JobDefinition
  queue: string
  now: number
  /** What to add to a time of our monotonic clock to have the server's. */
  clockMs: number
}

/** So far the server's clock may be from what we think it is: it may be set, or be another server's after a failover. */
const clockDoubtMs = 60_000

/** The earliest time on the server's clock at which something can have happened that began here at that moment. */
export function serverTimeOf({ clockMs }: Attempt, atMs: number): number {
  return clockMs + atMs - clockDoubtMs
}

/** Why a running attempt was told to stop. */
export class JobCancelled extends Error {
  override readonly name = 'JobCancelled'
}

/** The worker could not wait any longer for the attempt. */
export class WorkerStopping extends Error {
  override readonly name = 'WorkerStopping'
}

/** The ending of an attempt that a person did not want to begin. */
export function unwanted({ job, claimId }: Attempt): Ending | undefined {
  const { id, cancelling } = job
  return cancelling === null ? undefined : buried(id, claimId, { outcome: 'cancelled', reason: cancelling, runMs: 0 })
}

/** The ending of an attempt whose stored args do not meet today's code: it can never run, so it is not retried. */
export function misfit({ job, claimId }: Attempt, thrown: unknown): Ending {
  const reason = 'its args do not fit the definition any more'
  return { ...buried(job.id, claimId, { outcome: 'quarantined', reason, runMs: 0 }), error: errorRecord(thrown) }
}

/** What is written instead of an ending that the database refuses: the job is isolated, not stuck. */
export function unstorable({ job, claimId }: Attempt, cause: unknown): Ending {
  const reason = 'how it ended could not be written down'
  return { ...buried(job.id, claimId, { outcome: 'quarantined', reason, runMs: 0 }), error: errorRecord(cause) }
}

function buried(
  id: number,
  claimId: string,
  rest: { outcome: 'dead' | 'discarded' | 'cancelled' | 'quarantined'; reason: string; runMs: number },
): Extract<Ending, { kind: 'buried' }> {
  return { kind: 'buried', id, claimId, error: null, ...rest, reason: storable(rest.reason, maxReason) }
}

/** The ending of an attempt that returned. */
export function endingOf(returned: unknown, { job, claimId, waitMs }: Attempt, runMs: number): Ending {
  const kind = 'completed'
  const completed = {
    kind,
    id: job.id,
    claimId,
    waitMs,
    runMs,
    member: job.batchId !== null,
    keyed: job.keyed,
  } as const
  if (!(returned instanceof JobOutcome)) return completed
  const { reason, delayMs } = returned
  if (returned.kind === 'leave') return { ...completed, left: storable(reason, maxReason) }
  if (returned.kind === 'cancel') return buried(job.id, claimId, { outcome: 'cancelled', reason, runMs })
  const { id, tries } = job
  const snoozes = (tries?.[snoozed] ?? 0) + 1
  return {
    kind: 'postponed',
    id,
    claimId,
    verdict: 'snooze',
    reason: storable(reason, maxReason),
    delayMs,
    error: null,
    tries: { ...tries, [snoozed]: snoozes },
    counts: false,
    unrecorded: !isRecorded(snoozes),
    runMs,
  }
}

/** Under which snoozes are counted, beside the failures by rule; no error has such a name. */
const snoozed = '(snoozed)'

/**
 * Whether a row is kept of the nth snooze of a job: of the first ten, then of each tenth up to the hundredth, and so on.
 * A job that waits for something by snoozing may do so every second, and rows are kept for months.
 */
export function isRecorded(nth: number): boolean {
  return nth % 10 ** Math.max(0, Math.ceil(Math.log10(nth)) - 1) === 0
}

/** What is not the handler's fault, and how it is told. */
const excuses = [
  [ConnectionBroken, 'its connection to the database broke'],
  [RowBusy, 'others hold the lock of its row'],
] as const

/** So often it is nobody's fault; a handler that breaks its connection every time is at fault. */
const mostExcuses = 20

/** The ending of an attempt that threw. */
export function endingAfter(thrown: unknown, attempt: Attempt, runMs: number, random: number): Ending {
  const { job, claimId, definition } = attempt
  const { id } = job
  if (thrown instanceof WorkerStopping) return released(attempt)
  if (thrown instanceof JobCancelled) {
    return buried(id, claimId, { outcome: 'cancelled', reason: thrown.message, runMs })
  }
  const error = errorRecord(thrown)
  const tries = job.tries ?? {}
  const excuse = excuses.find(([kind]) => thrown instanceof kind)
  const excused = (tries[error.name] ?? 0) + 1
  if (excuse !== undefined && excused <= mostExcuses) {
    const delayMs = backoffMs(excused, { baseMs: 500, maxMs: 30_000 }, random)
    const rest = { error, tries: { ...tries, [error.name]: excused }, counts: false, runMs }
    const reason = `${excuse[1]}, which counts as no attempt`
    return { kind: 'postponed', id, claimId, verdict: 'retry', reason, delayMs, ...rest }
  }
  const verdict = judge(definition, { error: thrown, tries, random })
  if (verdict.kind !== 'retry') {
    return { ...buried(id, claimId, { outcome: verdict.kind, reason: verdict.reason, runMs }), error }
  }
  const { delayMs, reason } = verdict
  const rest = { error, tries: verdict.tries, counts: true, runMs }
  return { kind: 'postponed', id, claimId, verdict: 'retry', reason, delayMs, ...rest }
}

/** The ending of a job that goes back as if it had not been claimed. */
export function released({ job, claimId }: Pick<Attempt, 'job' | 'claimId'>): Ending {
  const { id, tries } = job
  const rest = { error: null, tries, counts: false, runMs: 0 }
  return { kind: 'postponed', id, claimId, verdict: 'release', reason: 'its worker stopped', delayMs: 0, ...rest }
}
