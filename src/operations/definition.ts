/** What an operation is: how it is declared, what its work receives, and what is known of it once it is defined. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Sql } from 'sql-template-tag'
import type { VacuumOptions } from '../governor/vacuum-care.ts'
import type { Registry } from '../runtime/registry.ts'
import type { Window, WindowSpec } from '../runtime/window.ts'
import type { Json } from '../std/json.ts'
import type { Change } from '../targets/walk.ts'
import type { Batch } from '../targets/work.ts'
import type { Changes } from '../targets/changes.ts'

/** What a scope may depend on: the args, and the moment at which the operation was started. */
export interface ScopeContext<Args> {
  args: Args
  /** Start of the operation by the database's clock, with microseconds; the same for every batch of the operation. */
  startedAt: string
}

/** What the work on one sub-batch receives. */
export interface PerformContext<Args> extends ScopeContext<Args> {
  batch: Batch
}

/** What work with effects outside the database receives: rows as they were read, in no transaction. */
export interface ExternalContext<Args> extends ScopeContext<Args> {
  rows: Record<string, unknown>[]
  /**
   * The idempotency key of a row: the same in every attempt, so that the receiver can tell a repetition. The work may
   * run more than once for a row, when a crash comes between the effect and the checkpoint.
   */
  keyOf: (row: object) => string
  /** Aborts when the batch was lost to another worker or the worker must end. */
  signal: AbortSignal
}

/** How an operation is declared; see {@link defineOperation}. */
interface CommonSpec<Args> {
  /** Unique among the definitions of an application; stored with each operation, so keep it when you rename code. */
  name: string
  /** The table to walk, as you would write it in SQL. */
  table: string
  /** Columns to walk by: NOT NULL, unique together, served by an index. Default: the primary key. */
  cursor?: readonly [string, ...string[]]
  /** Which rows belong to the operation. Default: all. */
  scope?(context: ScopeContext<Args>): Sql
  /** Rows per batch, the unit that one worker leases. Default: found while it runs, for about five seconds. */
  batchSize?: number
  /** Rows per sub-batch, which is one transaction. Default: found while it runs; see the guide on the governor. */
  subBatchSize?: number
  /** How many batches of one operation may run at once; `auto`: as many as pay and the load allows. Default: 1. */
  lanes?: number | 'auto'
  /** More of the workers' time than others of the same tenant. Default: normal. */
  priority?: 'low' | 'normal' | 'high'
  /** `table` (default): waits while another operation works on the same table. `none`: may share it. */
  conflicts?: 'table' | 'none'
  /** `end` (default): the last key is fixed at the start. `empty`: goes on while there are rows behind the last one. */
  until?: 'end' | 'empty'
  /** `restart` (default): every run begins at the first row. `continue`: behind the last key of the last finished run. */
  recur?: 'restart' | 'continue'
  /** Rows that are in scope after they were processed do not exist: look for such rows before finishing. */
  verify?: boolean
  /** How many rows may be isolated before the operation stops and waits for a person. Default: 1,000. */
  quarantineLimit?: number
  /** Each run waits until a person approves it. */
  approval?: boolean
  /** The hours in which it may run, such as `'00:00-06:00 Europe/Berlin'`. Outside these hours it is on hold. */
  window?: WindowSpec
  /**
   * `primary` (default): all reads go there. `replica`: looks for the next batch and the look for rows that were left may
   * go to the configured replica, once it has replayed what was committed when they were asked for.
   */
  reads?: 'primary' | 'replica'
  /** How it gets along with vacuum: a budget of dead rows, vacuum steps of its own, no truncation meanwhile. */
  vacuum?: VacuumOptions
  /** Paths of args that nobody may see, such as `args.token`: masked wherever it is shown, and in its errors. */
  redact?: readonly string[]
}

/** An operation that changes the database, and nothing else: each sub-batch takes effect once. */
export interface OperationSpec<Args> extends CommonSpec<Args> {
  effects?: 'database'
  /**
   * The work on one sub-batch, inside its transaction. Returns how many rows it changed; without a number, what
   * `batch.delete` and `batch.update` changed is counted.
   */
  perform(context: PerformContext<Args>): Promise<number | void>
}

/** An operation with effects outside the database: a sub-batch takes effect at least once. */
export interface ExternalSpec<Args> extends CommonSpec<Args> {
  effects: 'external'
  /** The work on the rows of one sub-batch, in no transaction. Returns how many it changed; by default all. */
  perform(context: ExternalContext<Args>): Promise<number | void>
}

/** {@link OperationSpec} or {@link ExternalSpec} with a schema for its args (zod, valibot, arktype …). */
export type WithArgs<Schema extends StandardSchemaV1, Spec> = Spec & { args: Schema }

/** Args checked, functions closed over them: all that running a batch needs to know of a definition. */
export interface BoundOperation {
  readonly effects: 'database' | 'external'
  scope(startedAt: string): Sql | undefined
  /** The rows of the scope, those among them that are right already included; left out: the scope is all that is known. */
  meant?(startedAt: string): Sql | undefined
  perform(context: Omit<PerformContext<never>, 'args'>): Promise<number | void>
  performExternal(context: Omit<ExternalContext<never>, 'args'>): Promise<number | void>
  /** What is done to all rows in scope, where that is one statement: fence and checkpoint then go with it. */
  readonly change?: Change
}

/** A defined operation. `Input` is what starting it takes as args. */
export interface OperationDefinition<in Input = never> {
  readonly name: string
  readonly table: string
  readonly cursor: readonly [string, ...string[]] | undefined
  /** Undefined: found by the worker. */
  readonly batchSize: number | undefined
  readonly subBatchSize: number | undefined
  readonly lanes: number | 'auto'
  readonly priority: 'low' | 'normal' | 'high'
  readonly conflicts: 'table' | 'none'
  readonly until: 'end' | 'empty'
  readonly recur: 'restart' | 'continue'
  readonly verify: boolean
  readonly reads: 'primary' | 'replica'
  readonly quarantineLimit: number
  readonly approval: boolean
  readonly window: Window | undefined
  readonly vacuum: VacuumOptions | undefined
  readonly redact: readonly string[]
  /** What it does to its rows, where a preset knows. */
  readonly changes: Changes
  /** The schema of its args; undefined: it takes none. */
  readonly schema: StandardSchemaV1 | undefined
  /** Checks stored args against the schema and gives the functions to run with them. */
  bind(stored: Json): Promise<BoundOperation>
  /** Exists for the type checker only: ties the definition to the args that starting it takes. */
  readonly takes?: (args: Input) => void
}

/** The operations that a process knows. */
export type OperationRegistry = Registry<OperationDefinition>

/** Any of them, as it comes. */
export type AnySpec = (OperationSpec<unknown> | ExternalSpec<unknown>) & { args?: StandardSchemaV1 }
