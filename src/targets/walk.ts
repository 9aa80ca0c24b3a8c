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
}

/** A walk of that kind; its cursor is the one that was recorded. Without a scope there is nothing to leave out. */
export function walkOfKind(walk: Pick<Walk, 'table' | 'cursor'>, kind: WalkKind, scope: Sql | undefined): Walk {
  if (scope === undefined || kind === 'key') return walk
  return { ...walk, only: scope, ...(kind === 'found' ? { unordered: true } : {}) }
}

/** A stretch of keys: everything after `lower` (or from the first row on) up to and including `upper`. */
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
