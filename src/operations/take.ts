import { errorRecord } from '../std/error-record.ts'
import { uuidv7 } from '../std/uuid.ts'
import type { ClaimedBatch } from '../store/batches.ts'
import type { Database } from '../store/database.ts'
import { failUncarved, holdUncarved } from '../store/lifecycle.ts'
import type { Key, OperationRow } from '../store/operations.ts'
import { activate, carve, claim, closeCarving, nextOperation, takeTurn } from '../store/picking.ts'
import { classify, sqlstate } from '../store/sqlstate.ts'
import { countRows, keyAt, lastKey, type Walk } from '../targets/window.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { sameKey } from './sub-batch.ts'

const uncarvedHoldMs = 30_000
/** Others may be faster that often in a row before this worker takes a rest. */
const maxLooks = 50

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
  batch: ClaimedBatch
  operation: OperationRow
}

/** How an operation walks its table. */
export function walkOf(operation: OperationRow): Walk {
  return {
    table: operation.table_name,
    cursor: { columns: operation.cursor_columns, types: operation.cursor_types },
  }
}

/** Leases a batch of the operation whose turn it is: one that waits, else a new one. Undefined: nothing to do. */
export async function takeBatch(taker: Taker): Promise<Taken | undefined> {
  const { control } = taker.database
  for (let look = 0; look < maxLooks; look++) {
    const [operation] = await nextOperation(control, taker)
    if (operation === undefined) return undefined
    if (operation.status === 'queued' && !(await activated(taker, operation))) continue
    const batch = operation.ready ? await claimBatch(taker, operation) : await carveBatch(taker, operation)
    if (batch !== undefined) return { batch, operation }
  }
  return undefined
}

async function activated({ database }: Taker, { id }: OperationRow): Promise<boolean> {
  try {
    return (await activate(database.control, { id })).length === 1
  } catch (error) {
    // Another operation has just got the table; this one waits its turn.
    if (sqlstate(error) === '23505') return false
    throw error
  }
}

async function claimBatch(
  { database, workerId, leaseMs }: Taker,
  { id }: OperationRow,
): Promise<ClaimedBatch | undefined> {
  return database.control.transaction(async (transaction) => {
    await takeTurn(transaction, { operationId: id })
    const [batch] = await claim(transaction, { operationId: id, workerId, leaseMs })
    return batch
  })
}

async function carveBatch(taker: Taker, operation: OperationRow): Promise<ClaimedBatch | undefined> {
  const { control } = taker.database
  try {
    const cut = await nextCut(taker, operation)
    if (cut === 'nothing left') {
      await closeCarving(control, { operation })
      return undefined
    }
    const { workerId, leaseMs } = taker
    const [batch] = await carve(control, { operation, ...cut, batchId: uuidv7(), workerId, leaseMs })
    return batch
  } catch (error) {
    if (classify(error) === 'connection') throw error
    await settleUncarved(taker, operation, error)
    return undefined
  }
}

/** Where the next batch ends, and whether it is the last one. */
async function nextCut(
  { database }: Taker,
  operation: OperationRow,
): Promise<{ upper: Key; last: boolean } | 'nothing left'> {
  const walk = walkOf(operation)
  const end = operation.until === 'empty' ? await lastKey(database.work, walk) : operation.carve_end
  if (end === null || sameKey(operation.carved_to, end)) return 'nothing left'
  const window = { lower: operation.carved_to, upper: end }
  const key = await keyAt(database.work, { walk, window, count: operation.batch_size })
  if (key !== null) return { upper: key, last: sameKey(key, end) }
  // An end that moves has been reached when there is no row behind the last batch; a frozen one just ends the walk.
  if (operation.until === 'empty' && (await countRows(database.work, walk, window)) === 0) return 'nothing left'
  return { upper: end, last: true }
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
