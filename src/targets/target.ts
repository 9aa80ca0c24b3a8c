/**
 * The port to a database whose tables operations walk. Operations and the governor know this file and the words beside
 * it; what they mean in SQL is known to one folder per kind of database.
 *
 * The control database decides who works on a batch and which batches exist. The target decides how far the work is:
 * fence, checkpoint and counters commit there, together with the rows.
 */
import type { Sql } from 'sql-template-tag'
import type { Claim } from '../store/batches.ts'
import type { Key, WalkKind } from '../store/operations.ts'
import type { ErrorClass } from '../store/sqlstate.ts'
import type { ErrorRecord } from '../std/error-record.ts'
import type { Bounds } from './bounds.ts'
import type { Changes } from './changes.ts'
import type { Checks } from './findings.ts'
import type { Changed, Outcome, Quarantined } from './outcome.ts'
import type { Upkeep } from './upkeep.ts'
import type { KeyWindow, Walk } from './walk.ts'
import type { BoundScope, BoundWork, Stretch, Strides, Work } from './work.ts'

export interface Target {
  /** The columns and keys of a table. */
  describe(table: string): Promise<TableShape>
  /** Looks before an operation starts, and at its plans while it runs. */
  readonly check: Checks
  /** Looks at what lies before a batch, once, when it begins. */
  enter(batch: BatchFacts): Promise<Entered>
  readonly windows: Windows
  /** Changes the rows of a stretch and moves the checkpoint with them. Never throws. */
  commit(work: Work, sub: { next: Stretch; end: Key }): Promise<Outcome<Changed>>
  /** Moves the checkpoint past a stretch in which there is nothing to do. Never throws. */
  passOver(work: Work, empty: Stretch & { began: number }): Promise<Outcome<{ elapsedMs: number }>>
  /** Sets rows aside with their error, and moves the checkpoint past them. Never throws. */
  quarantine(work: Work, range: Stretch & { error: ErrorRecord; fingerprint: string }): Promise<Outcome<Quarantined>>
  /** Where a claim stands. Waits for a transaction of it that is in doubt. Undefined: it is lost. */
  where(claim: Claim): Promise<{ checkpoint: Key | null } | undefined>
  /** Looks after tables while they are worked on. */
  upkeep(): Upkeep
  /** What an error means for whoever works on rows. */
  classify(error: unknown): ErrorClass | 'locked'
}

/** A batch that is about to begin. */
export interface BatchFacts {
  operationId: string
  /** The cursor as it was recorded; what it walks by becomes known with the scope. */
  walk: Pick<Walk, 'table' | 'cursor'>
  kind: WalkKind
  /** What is left of it. */
  window: KeyWindow
  pass: number
  crashes: number
  startedAt: string
  bound: BoundWork & BoundScope
  changes: Changes
  lanes: number | 'auto'
  reads: 'primary' | 'replica'
  /** Batches of the operation were done in strides before. */
  strode: boolean
}

/** What was found out about it. */
export interface Entered extends Pick<Work, 'walk' | 'scope' | 'mayKeepRows' | 'since'> {
  strides: Strides
  /** What a second pass leaves alone: rows that are in quarantine, in their order. */
  quarantined: readonly KeyWindow[]
  /** The fence and the change may be one statement, as far as the database is concerned. */
  mayBeOne: boolean
}

/** Looks for keys and counts rows, outside of any transaction that changes some. */
interface Windows {
  /** The end of the next batch. */
  cut(walk: Walk, wanted: CutWanted): Promise<Cut>
  /** The key of row number `count`, looked for while something else is done; null: there are fewer. */
  keyAt(walk: Walk, wanted: { window: KeyWindow; count: number; limitMs: number }): Promise<Key | null>
  /** How rows lie between keys that are whole numbers; undefined: they are not, or it is not known. */
  bounds(walk: Walk): Promise<Bounds | undefined>
  /** The rows of a window after the last one in scope, where keys are whole numbers. */
  tail(wanted: { walk: Walk; window: KeyWindow; scope: Sql; limitMs: number }): Promise<Tail>
  /** Which share of the rows lies up to each of these values of the leading column, as far as statistics tell. */
  shares(column: LeadingColumn, values: readonly (string | null)[]): Promise<Histogram | undefined>
  /** The next stretch of up to `size` rows after a key, if it is not known. `plain`: to be done in one transaction. */
  next(work: Work, wanted: KeyWindow & { size: number; plain: boolean; known?: Stretch | undefined }): Promise<Stretch>
  /** How many rows of the next stretch are in scope, where most likely none is. */
  look(work: Work, wanted: Look): Promise<Looked>
}

export interface CutWanted {
  from: Key | null
  /** Where the walk ends; `last row`: wherever that is by now. */
  end: Key | null | 'last row'
  size: number
  limitMs: number
  reads: 'primary' | 'replica'
}

/** `last`: nothing is left after it. */
export type Cut = { upper: Key; last: boolean } | 'nothing left' | 'too slow'

/** Rows at the end of a window, and the last key in scope before them; null: none of the window is. */
export interface Tail {
  rows: number
  last: Key | null
}

/** The column by which a table is walked first. */
export interface LeadingColumn {
  /** Qualified and quoted. */
  table: string
  column: string
  type: string
}

/** How the rows of a table lie along its leading column, as of the last statistics. */
export interface Histogram {
  /** Rows of the table by the same statistics, so that the two fit together also when rows have been deleted since. */
  rows: number
  /** For each key that was asked for: the share of the rows that lie up to it. */
  shares: number[]
}

/** What an operation must know about a table before it walks it. */
export interface TableShape {
  /** Schema-qualified and quoted, ready for SQL and independent of any search path. */
  qualifiedName: string
  columns: Column[]
  primaryKey: string[]
  /** Column sets that are unique, each without a predicate or expression. */
  uniqueKeys: string[][]
  /** Leading columns of the usable indexes, in one direction of sort. */
  indexes: string[][]
  /** Rows by statistics; 0 when there are none. */
  rowsEstimate: number
}

export interface Column {
  name: string
  /** Type name, ready for a cast. */
  type: string
  notNull: boolean
  /** The database computes it: nobody else may set it. */
  generated?: boolean
}

export interface Look {
  rest: KeyWindow
  /** The stretch to look at; undefined: it has to be found. */
  known: Stretch | undefined
  /** Rows of the stretch; `all`: there are no more than are wanted. */
  size: number | 'all'
  /** How many rows to look at after those; undefined: none. */
  further: number | undefined
}

/** A stretch that was looked at. */
export interface Looked {
  next: Stretch
  /** Its rows in scope. */
  found: number
  ahead?: Stretch | undefined
}
