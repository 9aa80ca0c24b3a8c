import type { ErrorRecord } from '../std/error-record.ts'

export type JobId = number

/** Proof that a job is ours. */
export interface JobClaim {
  id: JobId
  claimId: string
}

export const claimKey = ({ id, claimId }: JobClaim): string => `${id} ${claimId}`

/** How an attempt ended, to be written down. */
export type Ending =
  | ({ kind: 'completed'; /** Why it left without its work. */ left?: string } & Completion)
  | ({ kind: 'postponed' } & Setback)
  | ({ kind: 'buried' } & Burial)

export interface Completion extends JobClaim {
  waitMs: number
  runMs: number
  /** Whether it belongs to a batch of jobs. */
  member: boolean
  /** Whether it has a concurrency key. */
  keyed: boolean
}

/** An attempt that did not succeed, and what is to come of it. */
export interface Setback extends JobClaim {
  verdict: 'retry' | 'snooze' | 'release'
  reason: string
  delayMs: number
  error: ErrorRecord | null
  /** Failures by rule, with this one. */
  tries: Record<string, number> | null
  /** Whether it counts as an attempt. */
  counts: boolean
  /** One of many that are alike: no row is kept of it. */
  unrecorded?: boolean
  runMs: number
}

/** An end other than success. */
export interface Burial extends JobClaim {
  outcome: 'dead' | 'discarded' | 'cancelled' | 'quarantined'
  reason: string
  error: ErrorRecord | null
  runMs: number
}

/** The claim is somebody else's by now. */
export class JobLost extends Error {
  override readonly name = 'JobLost'
}

/** The connection on which a transactional attempt ran broke, and nothing of it was committed. */
export class ConnectionBroken extends Error {
  override readonly name = 'ConnectionBroken'
}
