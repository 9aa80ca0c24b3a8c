/** The work on a batch, as every target does it: what users' functions are given, and what is known before the work. */
import type { Sql } from 'sql-template-tag'
import type { Claim } from '../store/batches.ts'
import type { Change, KeyWindow, Walk } from './walk.ts'

/**
 * The rows of one sub-batch, and the transaction in which they change. Whatever runs through it commits together with
 * the checkpoint, or not at all.
 */
export interface Batch {
  /** Deletes the rows of this sub-batch that also meet `where`; gives their number. */
  delete(where?: Sql): Promise<number>
  /** Updates the rows of this sub-batch that also meet `where`, as in ``update(sql`state = 'new'`)``; gives their number. */
  update(set: Sql, where?: Sql): Promise<number>
  /** Reads the rows of this sub-batch in key order and locks them until the transaction ends. */
  rows<Row extends object = Record<string, unknown>>(where?: Sql): Promise<Row[]>
  /** Runs any statement in the transaction. Bound it by {@link Batch.window}, so that it stays small. */
  query<Row extends object = Record<string, unknown>>(statement: Sql): Promise<Row[]>
  /** The predicate of this sub-batch (key window and scope) on the walked table, for statements of your own. */
  readonly window: Sql
  /** Aborts when the batch was lost to another worker or the worker must end: stop early, nothing will be committed. */
  readonly signal: AbortSignal
}

/** What a definition does to the rows of a sub-batch, with its args put in. */
export interface BoundWork {
  readonly effects: 'database' | 'external'
  perform(context: { batch: Batch; startedAt: string }): Promise<number | void>
  performExternal(context: {
    rows: Record<string, unknown>[]
    keyOf: (row: object) => string
    signal: AbortSignal
    startedAt: string
  }): Promise<number | void>
  /** What is done to all rows in scope, where that is one statement: fence and checkpoint then go with it. */
  readonly change?: Change
}

/** Which rows an operation is about, with its args put in. */
export interface BoundScope {
  scope(startedAt: string): Sql | undefined
  /** The rows of the scope, those among them that are right already included; left out: the scope is all that is known. */
  meant?(startedAt: string): Sql | undefined
}

/** What an index has to serve: work does not change whether a row meets it. */
export function meantBy(bound: BoundScope, startedAt: string): Sql | undefined {
  return bound.meant === undefined ? bound.scope(startedAt) : bound.meant(startedAt)
}

/** In how many transactions the windows of a batch are done, and how their rows lie. */
export interface Strides {
  of: number
  rowsPerPage: number
}

/** The rows of a window that one of several transactions changes: of each page one row in `of`. */
export interface Stride {
  of: number
  /** Which of them, from 0 on. The last one takes all that is left. */
  at: number
  /** The pages on which they lie, where these are few; read in one go, they cost half of what an index does. */
  pages?: PageRange | undefined
}

/** Pages by number, the last one included. */
export interface PageRange {
  first: number
  last: number
}

/** The next stretch of a batch and how many rows it has. */
export interface Stretch {
  window: KeyWindow
  rows: number
  /** Only these rows of it; the checkpoint moves with the last of them. */
  stride?: Stride | undefined
}

/** What all sub-batches of a batch share. Nothing of it changes while the batch runs. */
export interface Work {
  readonly claim: Claim
  readonly operationId: string
  /** 2: the pass that looks for rows which the first did not meet. */
  readonly pass: number
  readonly walk: Walk
  readonly scope: Sql | undefined
  readonly bound: BoundWork
  /** Whether work with such a window may go on at that moment. */
  isOpen(window: string | null, now: Date): boolean
  readonly startedAt: string
  readonly leaseMs: number
  readonly signal: AbortSignal
  /** Whether nothing needs to be asked between the fence and the change, so that both may be one statement. */
  readonly inOne: boolean
  /** A trigger or a rule may leave rows as they are: what was changed has to be looked at. */
  readonly mayKeepRows: boolean
  /** No row may be in scope after it was processed, and no later pass would find it. */
  readonly leavesNone: boolean
  /** In how many transactions a window is done. */
  readonly strides: Strides
  /** What the second pass must not miss, where it may read from a replica; else undefined. */
  readonly since: string | undefined
}
