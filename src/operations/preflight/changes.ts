import type { AgeLimit } from '../preset.ts'

/** What an operation does to its rows, as far as that is known without running it. */
export interface Changes {
  kind: 'delete' | 'update' | 'unknown'
  /** The columns that an update sets. */
  columns?: readonly string[]
  /** The age by which rows are deleted. */
  aged?: AgeLimit
}

export const unknownChanges: Changes = { kind: 'unknown' }
