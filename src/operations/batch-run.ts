import type { HeldClaim } from '../runtime/leases.ts'
import type { ClaimedBatch } from '../store/batches.ts'
import type { Database } from '../store/database.ts'
import type { OperationRow } from '../store/operations.ts'
import type { Walk } from '../targets/window.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { OperationDefinition } from './define.ts'

/** A leased batch on its way. */
export interface BatchRun {
  operation: OperationRow
  batch: ClaimedBatch
  definition: OperationDefinition
  walk: Walk
  held: HeldClaim
  leaseMs: number
  /** Aborts when no new sub-batch may start: the worker is stopping. */
  stopping: AbortSignal
  /** Aborts when the worker's patience with a running sub-batch is over. */
  ending: AbortSignal
  database: Database
  telemetry: Telemetry
  /** Waits until a new sub-batch may start as far as the lease is concerned. */
  trusted(signal: AbortSignal): Promise<void>
}

/** What events say of a batch. */
export function about({ operation, batch }: Pick<BatchRun, 'operation' | 'batch'>): {
  operationId: string
  name: string
  batchId: string
  batch: number
} {
  return { operationId: operation.id, name: operation.name, batchId: batch.id, batch: batch.seq }
}
