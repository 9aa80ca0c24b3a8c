import type { Governor } from '../governor/governor.ts'
import { errorRecord } from '../std/error-record.ts'
import { ticks } from '../std/sleep.ts'
import { forgetActs } from '../store/audit.ts'
import { rescue } from '../store/batches.ts'
import type { Database } from '../store/database.ts'
import { beginVerifying, endHolds, finishDone, settleCancelling, settlePausing } from '../store/lifecycle.ts'
import { createHistoryPartitions, dropHistoryPartitions, forgetSilent, forgetSummaries } from '../store/workers.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { OperationRegistry } from './definition.ts'

interface Deps {
  database: Database
  registry: OperationRegistry
  telemetry: Telemetry
  governor: Pick<Governor, 'tidy'>
  leaseMs: number
  keepDays: number
  keepSummaryDays: number
  keepAuditDays: number
  signal: AbortSignal
}

const partitionsEveryMs = 3_600_000
/** One statement forgets so many rows. */
const most = 1_000

/** What every worker does now and then for all of them: no leader, and no harm when several do it at once. */
export async function keepHouse(deps: Deps): Promise<void> {
  let partitionsAt = 0
  for await (const _ of ticks(deps.leaseMs / 3, deps.signal)) {
    try {
      const due = Date.now() >= partitionsAt
      if (due) {
        await createHistoryPartitions(deps.database.control)
        await dropHistoryPartitions(deps.database.control, { keepDays: deps.keepDays })
        partitionsAt = Date.now() + partitionsEveryMs
      }
      await sweep(deps)
      // Last, and once an hour: what it meets must not keep anybody from being rescued.
      if (due) await forget(deps)
    } catch (error) {
      // The next tick tries again; the loops that take work report what the database says.
      if (!deps.signal.aborted)
        deps.telemetry.emit('warning', { message: `Sweep failed: ${errorRecord(error).message}` })
    }
  }
}

async function forget({ database: { control }, keepSummaryDays, keepAuditDays, signal }: Deps): Promise<void> {
  const kept = [
    [forgetSummaries, keepSummaryDays],
    [forgetActs, keepAuditDays],
  ] as const
  for (const [some, keepDays] of kept) {
    let forgotten = most
    while (forgotten === most && !signal.aborted)
      forgotten = (await some(control, { keepDays, most }))[0]?.forgotten ?? 0
  }
}

async function sweep(deps: Deps): Promise<void> {
  const { telemetry } = deps
  const { control } = deps.database
  for (const { id, operation_id, worker_id, crashes } of await rescue(control)) {
    telemetry.emit('batch.rescued', { batchId: id, operationId: operation_id, workerId: worker_id, crashes })
  }
  await endHolds(control)
  await settleOperations(deps)
  await deps.governor.tidy()
  await forgetSilent(control, { afterMs: deps.leaseMs * 20 })
}

/** Brings operations to the end that they wait for (stopped, cancelled, second pass, finished); tells whether any. */
export async function settleOperations({
  database: { control },
  telemetry,
  registry: { names },
}: Pick<Deps, 'telemetry' | 'registry' | 'database'>): Promise<boolean> {
  const paused = await settlePausing(control)
  const cancelled = await settleCancelling(control)
  for (const { id: operationId, name } of cancelled) {
    telemetry.emit('operation.cancelled', { operationId, name })
  }
  const verifying = await beginVerifying(control, { names })
  for (const { id: operationId, name } of verifying) {
    telemetry.emit('operation.verifying', { operationId, name })
  }
  const finished = await finishDone(control, { names })
  for (const done of finished) {
    telemetry.emit('operation.finished', {
      operationId: done.id,
      name: done.name,
      rowsSeen: done.rows_seen,
      rowsChanged: done.rows_changed,
      rowsQuarantined: done.rows_quarantined,
      batches: done.batches_finished,
      elapsedMs: done.elapsed_ms,
    })
  }
  return [paused, cancelled, verifying, finished].some((settled) => settled.length > 0)
}
