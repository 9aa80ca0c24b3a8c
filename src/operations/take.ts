/**
 * Taking: how a worker gets its next batch.
 *
 * Decisions.
 * - Carving is compare-and-set, not a lock. The end of the next batch is searched without a lock, because on a large
 *   table the search takes time. Then one statement moves `carved_to`, if it is still where the search began, and
 *   inserts the batch. A worker that loses this race searches again. No lock is held during a search, and no pooler can
 *   break the guard.
 * - The upper end of the walk is frozen at the start (unless the definition says `until: 'empty'`). So an operation
 *   ends even if its table grows faster than the operation walks.
 * - A unique index, not a check, gives a table to one operation. When two workers activate two operations on the same
 *   table at the same moment, one activation fails and that operation waits for its turn.
 */
import type { Governor } from '../governor/governor.ts'
import { formatDuration } from '../std/duration.ts'
import { errorRecord } from '../std/error-record.ts'
import { uuidv7 } from '../std/uuid.ts'
import type { ClaimedBatch } from '../store/batches.ts'
import type { Target } from '../targets/target.ts'
import type { Database } from '../store/database.ts'
import { failUncarved, holdUncarved } from '../store/lifecycle.ts'
import type { OperationRow } from '../store/operations.ts'
import { activate, carve, claim, closeCarving, nextOperation, shrinkCarve, takeTurn } from '../store/picking.ts'
import { classify, sqlstate } from '../store/sqlstate.ts'
import { type Walk, sameKey } from '../targets/walk.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Belonging } from './belonging.ts'
import type { Cut, Cuts } from './cuts.ts'
import type { OperationRegistry } from './definition.ts'
import { holdOutside, isOpenFor } from './off-peak.ts'
import { carveRows } from './size.ts'
import { carvingWalk, governed } from './walk.ts'

const uncarvedHoldMs = 30_000
const shrinkBy = 4
/** Others may be faster that often in a row before this worker takes a rest. */
const maxLooks = 50

/** Who takes, and for how long. */
export interface Taker {
  database: Database
  target: Target
  telemetry: Telemetry
  registry: OperationRegistry
  governor: Pick<Governor, 'keepsOut'>
  workerId: string
  leaseMs: number
  /** How long looking for the end of a batch may take. */
  carveMs: number
  cuts: Cuts
  belonging: Belonging
}

/** A batch leased to this worker, with its operation. */
export interface Taken {
  batch: ClaimedBatch
  operation: OperationRow
}

/** Leases a batch of the operation whose turn it is: one that waits, else a new one. Undefined: nothing to do. */
export async function takeBatch(taker: Taker): Promise<Taken | undefined> {
  const { control } = taker.database
  for (let look = 0; look < maxLooks; look++) {
    const [operation] = await nextOperation(control, { names: taker.registry.names })
    if (operation === undefined) return undefined
    const definition = taker.registry.find(operation.name)
    if (!(await taker.belonging.settle(operation, definition))) continue
    if (!isOpenFor(definition, operation.run_window, operation.as_of)) {
      await holdOutside(operation, definition, taker)
      continue
    }
    if (await taker.governor.keepsOut(governed(operation, definition))) continue
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
    if (cut === 'too slow') return undefined
    if (cut === 'nothing left') {
      await closeCarving(control, { operation })
      return undefined
    }
    const { workerId, leaseMs } = taker
    const [batch] = await carve(control, { operation, ...cut, batchId: uuidv7(), workerId, leaseMs })
    if (batch !== undefined) taker.cuts.carved(operation, cut.upper)
    return batch
  } catch (error) {
    if (classify(error) === 'connection') throw error
    await settleUncarved(taker, operation, error)
    return undefined
  }
}

/** Whether nothing is left to carve after it. */
interface NextCut extends Cut {
  last: boolean
}

/** The next cut. A look that takes too long makes the batch smaller: the next one, by whichever worker, is quicker. */
async function nextCut(taker: Taker, operation: OperationRow): Promise<NextCut | 'nothing left' | 'too slow'> {
  const { database, target, carveMs: limitMs, registry, cuts } = taker
  const size = carveRows(operation)
  const ahead = (await cuts.take(operation, size)) ?? (await cuts.estimate(operation, size))
  if (ahead !== undefined) return { ...ahead, last: sameKey(ahead.upper, operation.carve_end) }
  const walk = await carvingWalk(registry, operation)
  const { reads } = registry.find(operation.name)
  const end = operation.until === 'empty' ? 'last row' : operation.carve_end
  const cut = await target.windows.cut(walk, { from: operation.carved_to, end, size, limitMs, reads })
  if (cut === 'nothing left') return cut
  if (cut !== 'too slow') return { ...cut, size }
  if (size === 1) throw needsAnIndex(walk, limitMs)
  await shrinkCarve(database.control, { operation, size: Math.max(1, Math.floor(size / shrinkBy)) })
  return cut
}

function needsAnIndex({ table, cursor }: Walk, limitMs: number): Error {
  const columns = cursor.columns.join(', ')
  return new Error(
    `the carve needs an index: finding the next row of ${table} by (${columns}) takes longer than ${formatDuration(limitMs)}. Check that an index on these columns is there and not bloated`,
  )
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
