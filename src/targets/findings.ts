/** What is found out before an operation starts. */
import type { Sql } from 'sql-template-tag'
import type { SluiceError, SluiceErrorCode } from '../errors.ts'
import type { ErrorRecord } from '../std/error-record.ts'
import type { Connection } from '../store/connection.ts'
import type { Key, WalkKind } from '../store/operations.ts'
import type { Changes } from './changes.ts'
import type { Cursor, KeyWindow, Walk } from './walk.ts'
import type { BoundWork } from './work.ts'

/** What the checks before a start look for. */
type PlanCheck =
  | 'cascade'
  | 'cursor'
  | 'dry run'
  | 'foreign key'
  | 'HOT'
  | 'index'
  | 'other table'
  | 'partitions'
  | 'replica identity'
  | 'row security'
  | 'rule'
  | 'scan'
  | 'statistics'
  | 'time zone'
  | 'trigger'
  | 'unchecked'
  | 'unlogged'

/** One thing to know before an operation starts. */
export interface PlanFinding {
  check: PlanCheck
  /** `refuse`: a start is refused unless it is forced. `warn`: think about it. `note`: good to know. */
  severity: 'refuse' | 'warn' | 'note'
  /** What was found. */
  what: string
  /** Why it matters. */
  why: string
  /** What to do about it. */
  remedy: string
  /** Of a refusal: the code of the error with which a start ends. */
  code?: SluiceErrorCode
}

/** The parts of EXPLAIN's answer that tell how rows are found. */
export interface PlanNode {
  'Node Type': string
  Schema?: string
  'Relation Name'?: string
  'Index Name'?: string
  'Index Cond'?: string
  'Recheck Cond'?: string
  Filter?: string
  'Plan Rows'?: number
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  'Parent Relationship'?: string
  Plans?: PlanNode[]
}

/** A statement that is not to be run. */
export interface Recorded {
  text: string
  values: unknown[]
}

/** How the server would run a statement of the operation. */
export interface PlannedStatement {
  statement: 'carve' | 'work'
  text: string
  /** How rows are found, in words. */
  found: string
  /** The indexes that find them. */
  indexes: readonly string[]
  /** The plan as EXPLAIN gives it. */
  plan: PlanNode
}

/** A window that was looked at. */
export interface SampledWindow extends KeyWindow {
  rows: number
  matched: number
  elapsedMs: number
}

/** What lies before an operation, by samples and by the planner. */
export interface Prospect {
  windows: SampledWindow[]
  /** The windows are the whole range, from end to end. */
  complete: boolean
  /** Rows that it will meet. */
  see: number
  /** Rows in scope, as the planner expects them. */
  expected: number
  tableBytes: number
}

/** What a transaction has done to one table so far. */
export interface Touched {
  schema: string
  name: string
  inserted: number
  updated: number
  /** Of those updated: the new version stayed on its page, and no index was written. */
  hot: number
  deleted: number
  /** Rows that were read by going through the whole table. */
  scanned: number
}

/** A row of the dry run: what became of it. */
export interface RehearsedRow {
  key: readonly string[]
  outcome: 'deleted' | 'changed' | 'unchanged'
  /** The columns that changed, or the whole row when it was deleted. */
  before: Record<string, string | null>
  after: Record<string, string | null> | null
}

/** One sub-batch that was really run, and rolled back. */
export interface DryRun {
  rowsMatched: number
  rowsChanged: number
  elapsedMs: number
  /** Bytes of log that were written meanwhile; others write, too. */
  walBytes: number
  /** Of the walked table. */
  updated: number
  hot: number
  deleted: number
  /** What was done to other tables, by the work, a trigger or a cascade. */
  others: Touched[]
  /** The first rows, before and after. */
  rows: RehearsedRow[]
}

/** How a dry run went. */
export type Rehearsal =
  | { outcome: 'rolled back'; run: DryRun; statements: Recorded[] }
  | { outcome: 'left out'; reason: string }
  | { outcome: 'failed'; error: ErrorRecord; finding: PlanFinding }

/** What the checks found. */
export interface CheckUp {
  /** What is wrong with the plans. */
  findings: PlanFinding[]
  statements: PlannedStatement[]
  /** What lies around the table and concerns a change of its rows, when the operation does this to them. */
  around(changes: Changes): PlanFinding[]
}

/** A walk that is about to begin. */
export interface Subject {
  walk: Walk
  scope: Sql | undefined
  changes: Changes
  lanes: number | 'auto'
  batchSize: number
  subBatchSize: number
  lower: Key | null
  /** null: there is no row. */
  end: Key | null
  /** When it would be started. */
  startedAt: string
}

/** What a start asks for: a table, and the order in which to walk it. */
export interface Wanted {
  table: string
  cursor: readonly string[] | undefined
  changes: Changes
  /** The walks that the operation can do with; `key` is always one of them. */
  kinds: readonly WalkKind[]
  /** Asked for when table and cursor are known to be good. */
  scope: () => Sql | undefined
  meant: () => Sql | undefined
}

/** How the table can be walked; `problems` make it slow, and are for the caller to judge. */
export interface Resolved {
  walk: Walk
  /** Which walk that is, and why. */
  choice: WalkChoice
  scope: Sql | undefined
  /** Rows that it will pass, about. */
  rowsEstimate: number
  problems: SluiceError[]
}

/** The walk that serves a scope best. */
export interface WalkChoice {
  kind: WalkKind
  /** The index along which it goes; null: the one of its key. */
  index: string | null
  why: string
}

/** What is rehearsed: the work on up to `count` rows from a key on. */
export interface RehearsalWanted {
  walk: Walk
  scope: Sql | undefined
  from: KeyWindow
  count: number
  bound: BoundWork
  startedAt: string
}

/** Looks before a start. Nothing of it changes anything. */
export interface Checks {
  /** Resolves a table and its cursor, and refuses what cannot be walked. */
  resolve(wanted: Wanted): Promise<Resolved>
  /** A key that a person gave, as the database writes it. */
  key(cursor: Cursor, given: readonly unknown[]): Promise<Key>
  /** The last key of a walk, as a transaction of the caller sees it. */
  last(walk: Walk, by: Connection | undefined): Promise<Key | null>
  /** Looks at what can be looked at in a few milliseconds. */
  up(subject: Subject): Promise<CheckUp>
  /** Looks at the plans of an operation that runs. */
  plans(walked: Omit<Subject, 'lanes' | 'startedAt' | 'end'> & { end: Key }): Promise<PlanFinding[]>
  /** Looks at windows along the whole walk. */
  ahead(wanted: { walk: Walk; scope: Sql | undefined; range: KeyWindow; size: number }): Promise<Prospect>
  /** Runs the work on one window and rolls it back. */
  rehearse(wanted: RehearsalWanted): Promise<Rehearsal>
  /** The plan of a statement that was run; undefined: it is none that can be planned. */
  plan(recorded: Recorded): Promise<PlannedStatement | undefined>
}
