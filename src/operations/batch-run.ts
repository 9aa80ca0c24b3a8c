import type { BatchGovernor } from '../governor/governor.ts'
import type { HeldClaim } from '../runtime/leases.ts'
import { errorRecord, type ErrorRecord } from '../std/error-record.ts'
import { scrub, secretsAt } from '../std/mask.ts'
import { survived, type ClaimedBatch } from '../store/batches.ts'
import type { Database } from '../store/database.ts'
import type { OperationRow } from '../store/operations.ts'
import type { Target } from '../targets/target.ts'
import type { Walk } from '../targets/walk.ts'
import type { Work } from '../targets/work.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { BatchPosition } from './batch-position.ts'
import type { BatchSizes } from './batch-sizes.ts'
import type { Cuts } from './cuts.ts'
import type { OperationDefinition } from './definition.ts'
import type { Sizes } from './sizes.ts'
import type { Failures } from './verdict.ts'

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
  target: Target
  telemetry: Telemetry
  governor: BatchGovernor
  /** What became of the last sub-batches of the operation in this process; tells when it should stop. */
  outcomes: { ok(): void; isolated(fingerprint: string): string | undefined }
  /** Sizes of sub-batches of the operation, as this process has found them. */
  sizes: Sizes
  /** Ends of the next batches. */
  cuts: Cuts
  /** Waits until a new sub-batch may start as far as the lease is concerned. */
  trusted(signal: AbortSignal): Promise<void>
}

/** A batch that has begun: what stays as it is, where it is, its sizes, and what has failed lately. */
export interface Begun {
  work: Work
  position: BatchPosition
  sizes: BatchSizes
  failures: Failures
  /** Aborts rests between sub-batches. */
  resting: AbortSignal
}

/** What comes next for a batch: `on`: its next step. `over`: nothing, it is settled or somebody else's. */
export type Next = 'on' | 'over' | 'give back'

/** What events say of a batch. */
export function about({ operation, batch }: Pick<BatchRun, 'operation' | 'batch'>): {
  operationId: string
  name: string
  batchId: string
  batch: number
} {
  return { operationId: operation.id, name: operation.name, batchId: batch.id, batch: batch.seq }
}

/**
 * Says that the fence refused: nothing more is done for this claim. A holder whose work moved was cut off and did not
 * die on these rows; it says so, or three outages would isolate rows that are good. What it cannot say, for want of a
 * connection, stays counted.
 */
export function lost(run: BatchRun, at: 'renewal' | 'sub-batch' | 'finish'): void {
  run.telemetry.emit('batch.lost', { ...about(run), at })
  if (run.held.moving()) survived(run.database.control, run.held).catch(() => undefined)
}

/** Says that something could not be settled and is left to the lease. */
export function warn(run: BatchRun, what: string, error: unknown): void {
  run.telemetry.emit('warning', { message: `${run.operation.name}: ${what}: ${recordOf(run, error).message}` })
}

/** An error of a run as others may see it, without what the definition keeps secret. */
export function recordOf(
  { operation, definition }: Pick<BatchRun, 'operation' | 'definition'>,
  error: unknown,
): ErrorRecord {
  return scrub(errorRecord(error), secretsAt(operation.args, definition.redact))
}
