/** What a sweep is: how it is declared, and what its effect receives. */
import type { Sql } from 'sql-template-tag'
import type { Registry } from '../../runtime/registry.ts'
import type { Window, WindowSpec } from '../../runtime/window.ts'
import type { Duration } from '../../std/duration.ts'
import type { Finalising } from '../../targets/postgres/finalise.ts'
import type { SweptNames } from '../../targets/postgres/swept-table.ts'

/** The name of a column of a row. */
export type ColumnOf<Row> = Extract<keyof Row, string>

/** What the effect of a sweep receives. */
export interface SweepContext<Row> {
  /** The row as it was when it was claimed. */
  row: Row
  /** The same in every attempt, whichever worker makes it; another one when the row has come back as a new one. */
  idempotencyKey: string
  /** What `version` said when the row was first claimed: delete this version of the object and no other. */
  version: string | undefined
  /** From 1. */
  attempt: number
  /** Aborts when the call took too long or the worker must end. */
  signal: AbortSignal
}

/** How a claim stands in the columns of the row itself. */
export interface ClaimColumns<Row> {
  columns: {
    status: ColumnOf<Row>
    /** Of type uuid or text, and null while nobody has the row. */
    nonce: ColumnOf<Row>
    claimedAt?: ColumnOf<Row>
    worker?: ColumnOf<Row>
  }
  /** The status of rows that may be claimed, and of those that are. */
  from: string
  to: string
}

/** What {@link defineSweep} takes. */
export interface SweepSpec<Row> {
  /** Unique among the sweeps of an application; claims are stored under it, so keep it when you rename code. */
  name: string
  table: string
  /** The column, or columns, that tell rows apart: a primary key, or another key that is unique. */
  key: ColumnOf<Row> | readonly ColumnOf<Row>[]
  /** Which rows are to go. Asked when a row is claimed, and again when it is finalised. */
  due: Sql
  /** Columns by which rows are taken in turn; let an index serve `due` and this. Default: the key. */
  order?: ColumnOf<Row> | readonly ColumnOf<Row>[]
  /** Where claims stand: in columns of the row, or, where none can be added, in a table of our own. */
  claim: ClaimColumns<Row> | 'table'
  /** What happens outside of the database, at least once for each row. Without it rows are finalised and nothing else. */
  effect?(context: SweepContext<Row>): unknown
  /** What becomes of the row after its effect. Default: it is deleted. */
  finalise?: 'delete' | { set: { readonly [Column in ColumnOf<Row>]?: unknown } }
  /** A count in another table that goes down by one in the transaction in which the row is finalised. */
  releases?: { table: string; key: string; count: string; by: ColumnOf<Row> }
  /** Which version of its object a row stands for: an ETag, a version id. Recorded when the row is first claimed. */
  version?(row: Row): string | null
  /** Rows per claim. */
  batch?: number
  /** Effects at once in one process. */
  concurrency?: number
  /** An effect may take so long. */
  timeout?: Duration
  /** After so many failed attempts a row is isolated. */
  attempts?: number
  /** After so many failures in a row the sweep is held for so long. */
  breaker?: { failures?: number; for?: Duration }
  /** Wait between looks for due rows when there were none. */
  interval?: Duration
  /** The hours in which rows may be claimed, by the database's clock, such as `'00:00-06:00 Europe/Berlin'`. Default: all. */
  window?: WindowSpec
}

/** A defined sweep. */
export interface SweepDefinition {
  readonly name: string
  readonly names: SweptNames
  readonly finalising: Finalising
  readonly batch: number
  readonly concurrency: number
  readonly timeoutMs: number
  readonly attempts: number
  readonly breaker: { failures: number; forMs: number }
  readonly intervalMs: number
  readonly effect: ((context: SweepContext<Record<string, unknown>>) => unknown) | undefined
  version(row: Record<string, unknown>): string | undefined
  readonly window: Window | undefined
}

/** The sweeps that a process knows. */
export type SweepRegistry = Registry<SweepDefinition>
