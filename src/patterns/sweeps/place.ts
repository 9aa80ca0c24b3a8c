import type { Shift } from '../../runtime/crew.ts'
import type { ErrorRecord } from '../../std/error-record.ts'
import type { Database } from '../../store/database.ts'
import type { ClaimOwner } from '../../store/sweep-claims.ts'
import type { SweptTable } from '../../targets/postgres/swept-table.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { SweepDefinition } from './definition.ts'

/** All that is needed to work on one sweep in one process. */
export interface Place {
  definition: SweepDefinition
  swept: SweptTable
  database: Database
  telemetry: Telemetry
  shift: Shift
  /** Called when counts of a table have come down to zero: its rows may be due now. */
  onZero(table: string): void
}

/** A row that this process has claimed. */
export interface ClaimedRow {
  key: string[]
  row: Record<string, unknown>
  generation: string
  version: string | undefined
  attempts: number
  /** Why the version of this row cannot be told: then it has no effect. */
  unreadable: ErrorRecord | undefined
  /** Why its claim does not stand, though it was written: then it has no effect, and is isolated. */
  unclaimed: ErrorRecord | undefined
}

/** Rows that were claimed in one transaction, under one nonce. */
export interface ClaimedBatch {
  owner: ClaimOwner
  rows: ClaimedRow[]
}

/** A key as a value that can be looked up. */
export const idOf = (key: readonly string[]): string => JSON.stringify(key)
