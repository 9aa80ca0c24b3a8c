/** How an operation stops with an error: held for a while, or failed. */
import { retry } from '../store/batches.ts'
import { fail, hold } from '../store/lifecycle.ts'
import { about, lost, recordOf, warn, type BatchRun } from './batch-run.ts'

/** How long an operation waits after a doubt that could not be cleared. */
const unclearMs = 30_000

/** A doubt that cannot be cleared must not be silent: the operation is held, and the reason says what the database says. */
export async function holdUnclear(run: BatchRun, error: unknown): Promise<'held'> {
  await holdOperation(run, error, unclearMs)
  return 'held'
}

/** Stops the operation for a while and gives the batch back; what the server lacks is no fault of the batch. */
export async function holdOperation(run: BatchRun, error: unknown, waitMs: number): Promise<void> {
  const record = recordOf(run, error)
  const { control } = run.database
  const reason =
    run.target.classify(error) === 'locked'
      ? `another transaction keeps rows locked: ${record.message}`
      : record.message
  try {
    const [held] = await hold(control, { ...run.held, reason, waitMs })
    const kept = await retry(control, { ...run.held, error: record, waitMs, counts: false })
    if (kept.length === 0) return lost(run, 'finish')
    run.telemetry.emit('batch.retried', { ...about(run), error: record, attempt: run.batch.errors + 1, waitMs })
    const { id: operationId, name } = run.operation
    if (held !== undefined) run.telemetry.emit('operation.held', { operationId, name, reason, until: held.until })
  } catch (again) {
    // What could not be written is settled by the lease: it runs out and the batch is taken up where it stands.
    warn(run, 'could not record an error', again)
  }
}

/** Ends the operation: the error is one that trying again cannot cure. */
export async function settleFailure(run: BatchRun, error: unknown): Promise<void> {
  const record = recordOf(run, error)
  try {
    const [failed] = await fail(run.database.control, { ...run.held, error: record })
    if (failed === undefined) return lost(run, 'finish')
    run.telemetry.emit('operation.failed', { operationId: failed.id, name: run.operation.name, error: record })
  } catch (again) {
    // The lease runs out, and the next worker meets the same error.
    warn(run, 'could not record an error', again)
  }
}
