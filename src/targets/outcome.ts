/** What came of a transaction under a claim: it committed, or nothing has changed, and why. */
import type { Key } from '../store/operations.ts'
import type { Stretch } from './work.ts'

export type Outcome<Done> = Committed<Done> | Refused | Failed

type Committed<Done> = { kind: 'committed' } & Done

/** The fence has refused. */
export interface Refused {
  /**
   * - `lost`: another worker owns the batch.
   * - `moved`: it is ours, but its checkpoint is not where this sub-batch was to begin.
   * - `stop`: the operation is paused, cancelled or held by another lane, its definition is disabled, or all are frozen.
   * - `closed`: the hours of the operation are over.
   */
  kind: 'lost' | 'moved' | 'stop' | 'closed'
}

/** An error; after a broken connection it may have committed all the same. */
export interface Failed {
  kind: 'failed'
  error: unknown
}

/** What a person has set for the operation, as of the last transaction. */
interface Limits {
  pace: number
  /** The largest sub-batch that is wanted at the moment. */
  sub_batch_size: number
}

/** What one sub-batch did. */
export interface Changed {
  /** Where the checkpoint is now. */
  at: Key | null
  /** Rows that the checkpoint went past. */
  rowsSeen: number
  rowsMatched: number
  rowsChanged: number
  /** Rows that this transaction was about, of the window that it belongs to. */
  rowsAtOnce: number
  elapsedMs: number
  /** WAL that was written meanwhile, by whomever. */
  walBytes: number
  limits: Limits
  /** A part of the window is left, and comes next. */
  rest: boolean
  /** What comes next, if that is known already. */
  next: Stretch | undefined
}

/** Rows that were set aside, and how many of the operation may be. */
export interface Quarantined {
  total: number
  quarantine_limit: number
}
