import type { AgeLimit } from '../age.ts'

/** What an operation does to its rows, as far as that is known without running it. */
export interface Changes {
  kind: 'delete' | 'update' | 'unknown'
  /** The columns that an update sets. */
  columns?: readonly string[]
  /** In how many transactions the rows of a window are done; see the backfill. */
  stride?: number | 'auto'
  /** The age by which rows are deleted. */
  aged?: AgeLimit
  /** The age by which rows are chosen, whatever is done to them. */
  timed?: AgeLimit
}

export const unknownChanges: Changes = { kind: 'unknown' }
