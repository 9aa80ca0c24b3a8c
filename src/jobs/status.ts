import type { ErrorRecord } from '../std/error-record.ts'
import type { Json } from '../std/json.ts'
import type { AttemptView, JobView } from '../store/jobs/views.ts'
import { ownTags, traceIdOf } from './trace.ts'

/** Where a job stands. `blocked`: others with its concurrency key are before it. */
export type JobState = JobView['state']

/** States of jobs that are not over. */
export const liveJobStates = ['waiting', 'scheduled', 'blocked', 'running'] as const
/** States in which jobs end. */
export const endedJobStates = ['succeeded', 'dead', 'discarded', 'cancelled', 'quarantined'] as const

/** A job as a person or a page sees it. */
export interface JobStatus {
  id: number
  name: string
  queue: string
  state: JobState
  /** It could run, but no running worker knows its name. */
  parked: boolean
  priority: 'high' | 'normal' | 'low' | null
  attempt: number
  crashes: number
  /** Null when it succeeded: the args of such jobs are not kept. */
  args: Json | null
  tags: readonly string[]
  /** The trace in which it was enqueued, where there was one; of jobs that succeeded it is not kept. */
  traceId: string | null
  /** Its concurrency key. */
  key: string | null
  workerId: string | null
  /** Why it ended as it did. */
  reason: string | null
  error: ErrorRecord | null
  enqueuedAt: Date
  /** When it may run, or was let run. */
  runAt: Date | null
  finishedAt: Date | null
  waitMs: number | null
  runMs: number | null
}

/** An attempt that did not succeed, and the verdict on it. */
export interface JobAttempt {
  attempt: number
  verdict: string
  reason: string
  error: ErrorRecord | null
  at: Date
  nextAt: Date | null
  runMs: number | null
  workerId: string | null
}

/** Turns a stored job into a status. */
export function jobStatusOf(view: JobView): JobStatus {
  return {
    id: view.id,
    name: view.name,
    queue: view.queue,
    state: view.state,
    parked: view.parked,
    priority: view.priority,
    attempt: view.attempt,
    crashes: view.crashes,
    args: view.args,
    tags: ownTags(view.tags),
    traceId: traceIdOf(view.tags),
    key: view.key,
    workerId: view.worker_id,
    reason: view.reason,
    error: view.error,
    enqueuedAt: view.enqueued_at,
    runAt: view.run_at,
    finishedAt: view.finished_at,
    waitMs: view.wait_ms,
    runMs: view.run_ms,
  }
}

export function attemptOf(view: AttemptView): JobAttempt {
  const { attempt, verdict, reason, error, at, next_at: nextAt, run_ms: runMs, worker_id: workerId } = view
  return { attempt, verdict, reason, error, at, nextAt, runMs, workerId }
}
