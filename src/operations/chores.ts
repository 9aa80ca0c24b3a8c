import { errorRecord } from '../std/error-record.ts'
import { ticks } from '../std/sleep.ts'
import { rescue } from '../store/batches.ts'
import type { Database } from '../store/database.ts'
import { endHolds, finishDone } from '../store/operations.ts'
import { createHistoryPartitions, forgetSilent } from '../store/workers.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Registry } from './registry.ts'

interface Deps {
  database: Database
  registry: Registry
  telemetry: Telemetry
  leaseMs: number
  signal: AbortSignal
}

const partitionsEveryMs = 3_600_000
const weeksAhead = 4

/** What every worker does now and then for all of them: no leader, and no harm when several do it at once. */
export async function keepHouse(deps: Deps): Promise<void> {
  let partitionsAt = 0
  for await (const _ of ticks(deps.leaseMs / 3, deps.signal)) {
    try {
      if (Date.now() >= partitionsAt) {
        await createHistoryPartitions(deps.database.control, { weeksAhead })
        partitionsAt = Date.now() + partitionsEveryMs
      }
      await sweep(deps)
    } catch (error) {
      // The next tick tries again; the loops that take work report what the database says.
      if (!deps.signal.aborted)
        deps.telemetry.emit('warning', { message: `Sweep failed: ${errorRecord(error).message}` })
    }
  }
}

async function sweep({ database: { control }, telemetry, leaseMs, registry }: Deps): Promise<void> {
  for (const freed of await rescue(control)) {
    const { id, operation_id, worker_id, crashes } = freed
    telemetry.emit('batch.rescued', { batchId: id, operationId: operation_id, workerId: worker_id, crashes })
  }
  await endHolds(control)
  await finishOperations({ database: { control }, telemetry, registry })
  await forgetSilent(control, { afterMs: leaseMs * 20 })
}

/** Ends the operations that have nothing left to do. */
export async function finishOperations({
  database,
  telemetry,
  registry,
}: Pick<Deps, 'telemetry' | 'registry'> & { database: Pick<Database, 'control'> }): Promise<void> {
  for (const done of await finishDone(database.control, { names: registry.names })) {
    telemetry.emit('operation.finished', {
      operationId: done.id,
      name: done.name,
      rowsSeen: done.rows_seen,
      rowsChanged: done.rows_changed,
      batches: done.batches_finished,
      elapsedMs: done.elapsed_ms,
    })
  }
}
