/** Words that all targets share: how a table is walked, and which of its rows are meant. */
import type { Sql } from 'sql-template-tag'
import type { Key, WalkKind } from '../store/operations.ts'

/** The tuple of columns by which a table is walked. */
export interface Cursor {
  columns: readonly string[]
  types: readonly string[]
}

/** A table and the order in which it is walked. */
export interface Walk {
  /** Qualified and quoted. */
  table: string
  cursor: Cursor
  /** Walks only rows that meet this, which an index finds. Without it, every row is a step. */
  only?: Sql
  /** An index finds these few rows in another order: each search reads all of them. */
  unordered?: true
  /**
   * Walks by the values of the first column, up to the last row that meets this. A key of that one column stands for all
   * rows with its value: they stay in one window as long as they fit, so that an index on the column alone will do.
   */
  range?: Sql
}

/** A walk of that kind; its cursor is the one that was recorded. Without a scope there is nothing to leave out. */
export function walkOfKind(walk: Pick<Walk, 'table' | 'cursor'>, kind: WalkKind, scope: Sql | undefined): Walk {
  if (scope === undefined || kind === 'key') return walk
  return {
    ...walk,
    ...(kind === 'range' ? {} : { only: scope }),
    ...(kind === 'found' ? { unordered: true as const } : {}),
    ...(kind === 'range' || kind === 'sparse range' ? { range: scope } : {}),
  }
}

/** The columns whose keys end windows, as long as no group of equal values has to be split. */
export function stepsOf({ cursor: { columns, types }, range }: Pick<Walk, 'cursor' | 'range'>): Cursor {
  return range === undefined ? { columns, types } : { columns: columns.slice(0, 1), types: types.slice(0, 1) }
}

/** Whether several rows may share a key at which windows end. */
export function mayTie({ cursor, range }: Pick<Walk, 'cursor' | 'range'>): boolean {
  return range !== undefined && cursor.columns.length > 1
}

/**
 * A stretch of keys: everything after `lower` (or from the first row on) up to and including `upper`. A key with fewer
 * columns than the cursor comes after all rows that begin with it.
 */
export interface KeyWindow {
  lower: Key | null
  upper: Key
}

/** The rows that one sub-batch may touch: those of a window that are in the operation's scope. */
export interface Slice {
  walk: Walk
  window: KeyWindow
  scope: Sql | undefined
}

/** What one statement does to all rows of a slice. */
export type Change = { kind: 'delete' } | { kind: 'update'; set: Sql }

/** Whether two keys are the same text; order is for the database alone to say. */
export function sameKey(a: Key | null, b: Key | null): boolean {
  return a === b || (a !== null && b !== null && a.length === b.length && a.every((part, i) => part === b[i]))
}
