import type { ErrorRecord } from '../std/error-record.ts'
import type { Json } from '../std/json.ts'
import { ownTags, traceIdOf } from './trace.ts'

/** States of jobs that are not over. */
export const liveJobStates = ['waiting', 'scheduled', 'blocked', 'running'] as const
/** States in which jobs end. */
export const endedJobStates = ['succeeded', 'dead', 'discarded', 'cancelled', 'quarantined'] as const

/** Where a job stands. `blocked`: others with its concurrency key are before it. */
export type JobState = (typeof liveJobStates)[number] | (typeof endedJobStates)[number]

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

/** A job as its store gives it: with all of its tags, and its place in a list. */
export interface StoredJob extends Omit<JobStatus, 'traceId'> {
  /** Give it to a filter as `before` to go on after this job. */
  cursor: number
}

/** Turns a stored job into a status. */
export function jobStatusOf({ cursor: _cursor, ...job }: StoredJob): JobStatus {
  return { ...job, tags: ownTags(job.tags), traceId: traceIdOf(job.tags) }
}

/** A queue as a person sees it: its switches, and what is in it. */
export interface QueueStatus {
  name: string
  paused: boolean
  pausedBy: string | null
  /** At most so many starts per so many milliseconds. */
  rate: { limit: number; perMs: number } | null
  waiting: number
  scheduled: number
  /** Behind others with the same concurrency key. */
  blocked: number
  running: number
  /** Of the ones that do not run: those whose name no running worker knows. */
  parked: number
  /** There are so many jobs that part of them was counted for all. */
  estimated: boolean
  /** How long the job that could run, and has waited longest, has been waiting. */
  oldestMs: number | null
}

/** Jobs that ended without success in the same way. */
export interface FailureGroup {
  fingerprint: string
  name: string
  queue: string
  state: 'dead' | 'discarded' | 'cancelled' | 'quarantined'
  jobs: number
  /** The error of the latest. */
  error: ErrorRecord | null
  reason: string
  firstAt: Date
  lastAt: Date
  latestId: number
  /** Jobs per hour of the last day, oldest first. */
  perHour: number[]
}

/** A unique key that is taken. */
export interface LockView {
  name: string
  key: string
  job_id: number
  until: 'start' | 'success'
  expires_at: Date | null
}
