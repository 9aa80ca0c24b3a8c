/** How a batch ends: it is finished, given back, and in any case accounted for. */
import { release } from '../store/batches.ts'
import { charge } from '../store/picking.ts'
import { about, lost, warn, type BatchRun, type Begun } from './batch-run.ts'
import { settleFinish } from './doubt.ts'
import { holdUnclear } from './stop-operation.ts'
import { carveRows, sizeAfter } from './size.ts'

/** A batch that was cut by statistics may have more rows than meant, but not that many times as many. */
const farMore = 4

export async function finish(run: BatchRun, { position: { done: own } }: Begun): Promise<'over'> {
  const { operation, sizes } = run
  if (own.rows > farMore * carveRows(operation)) run.cuts.distrust(operation)
  const done = await settleFinish(run, {
    carveSize: sizeAfter(operation, own),
    tunedSize: operation.tuned_size === null ? null : sizes.rows(operation.id, operation.tuned_size),
  }).catch((unclear: unknown) => holdUnclear(run, unclear))
  if (done === 'lost') lost(run, 'finish')
  if (done === 'lost' || done === 'stopped' || done === 'held') return 'over'
  run.telemetry.emit('batch.finished', {
    ...about(run),
    rowsSeen: done.rows_seen,
    rowsChanged: done.rows_changed,
    subBatches: done.sub_batches,
    busyMs: done.busy_ms,
  })
  return 'over'
}

export async function giveBack(run: BatchRun): Promise<void> {
  try {
    const given = await release(run.database.control, run.held)
    if (given.length === 0) return lost(run, 'finish')
    run.telemetry.emit('batch.released', about(run))
  } catch (error) {
    // The lease runs out instead; the next worker goes on at the same checkpoint.
    warn(run, 'could not give a batch back', error)
  }
}

/** What the batch has cost goes to its tenant's share, however it ended. */
export async function account(run: BatchRun, busyMs: number): Promise<void> {
  try {
    await charge(run.database.control, { operationId: run.operation.id, busyMs })
  } catch (error) {
    // Fairness can do without one entry.
    warn(run, 'could not account for a batch', error)
  }
}
