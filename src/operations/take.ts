import { errorRecord } from '../std/error-record.ts'
import { uuidv7 } from '../std/uuid.ts'
import * as batches from '../store/batches.ts'
import type { Database } from '../store/database.ts'
import { failUncarved, holdUncarved, nextToCarve, type Key, type OperationRow } from '../store/operations.ts'
import { classify } from '../store/sqlstate.ts'
import { keyAt, type Walk } from '../targets/window.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'

const uncarvedHoldMs = 30_000

/** Who takes, and for how long. */
export interface Taker {
  database: Database
  telemetry: Telemetry
  names: string[]
  workerId: string
  leaseMs: number
}

/** A batch leased to this worker, with its operation. */
export interface Taken {
  batch: batches.ClaimedBatch
  operation: OperationRow
}

/** How an operation walks its table. */
export function walkOf(operation: OperationRow): Walk {
  return {
    table: operation.table_name,
    cursor: { columns: operation.cursor_columns, types: operation.cursor_types },
  }
}

/** Leases a waiting batch, else carves a new one. Undefined: there is nothing to do. */
export async function takeBatch(taker: Taker): Promise<Taken | undefined> {
  const [batch] = await batches.claim(taker.database.control, taker)
  if (batch === undefined) return carveBatch(taker)
  const [operation] = await batches.operationOf(taker.database.control, { operationId: batch.operation_id })
  return operation === undefined ? undefined : { batch, operation }
}

async function carveBatch(taker: Taker): Promise<Taken | undefined> {
  const { control } = taker.database
  for (;;) {
    const [operation] = await nextToCarve(control, taker)
    if (operation?.carve_end == null) return undefined
    const found = await boundary(taker, operation, operation.carve_end)
    if (found === 'settled') continue
    const [batch] = await batches.carve(control, {
      operation,
      upper: found.key ?? operation.carve_end,
      last: found.key === null,
      batchId: uuidv7(),
      workerId: taker.workerId,
      leaseMs: taker.leaseMs,
    })
    // None: another worker carved first, and there may be more.
    if (batch !== undefined) return { batch, operation }
  }
}

/** The last key of the next batch; null when the rest of the table is smaller than a batch. */
async function boundary(taker: Taker, operation: OperationRow, end: Key): Promise<{ key: Key | null } | 'settled'> {
  const window = { lower: operation.carved_to, upper: end }
  try {
    return { key: await keyAt(taker.database.work, { walk: walkOf(operation), window, count: operation.batch_size }) }
  } catch (error) {
    if (classify(error) === 'connection') throw error
    await settleUncarved(taker, operation, error)
    return 'settled'
  }
}

/** An operation that cannot be carved must not keep its worker from others: it fails, or is held for a while. */
async function settleUncarved({ database, telemetry }: Taker, operation: OperationRow, thrown: unknown): Promise<void> {
  const error = errorRecord(thrown)
  const about = { operationId: operation.id, name: operation.name }
  if (classify(thrown) === 'fatal') {
    const [failed] = await failUncarved(database.control, { operation, error })
    if (failed !== undefined) return telemetry.emit('operation.failed', { ...about, error })
  }
  const reason = `the next batch cannot be carved: ${error.message}`
  const [held] = await holdUncarved(database.control, { operation, reason, waitMs: uncarvedHoldMs })
  if (held !== undefined) telemetry.emit('operation.held', { ...about, reason, until: held.until })
}
