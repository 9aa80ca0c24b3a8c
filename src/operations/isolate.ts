import type { ErrorRecord } from '../std/error-record.ts'
import { uuidv7 } from '../std/uuid.ts'
import { trip } from '../store/lifecycle.ts'
import { isolate } from '../store/quarantine.ts'
import { about, lost, recordOf, warn, type BatchRun } from './batch-run.ts'
import { fingerprintOf } from './breaker.ts'
import type { Progress } from './batch-progress.ts'
import { ClaimLost, nextWindow, passFence, sameKey, StopAsked, type SubBatchWork } from './sub-batch.ts'

/** Each death of a worker on the same rows makes the next sub-batch there so many times smaller. */
export const careAfterCrash = 10
/** Deaths of workers on the same rows after which these are left alone. */
const maxCrashes = 3

/** Isolates the row on which a sub-batch of one fails, and goes on behind it. */
export async function isolateRow(
  run: BatchRun,
  work: SubBatchWork,
  { progress, error }: { progress: Progress; error: unknown },
): Promise<'on' | 'over' | 'give back'> {
  return isolateWindow(run, work, { progress, error: recordOf(run, error), size: 1 })
}

/** Isolates the rows at the head of a batch on which workers died again and again. */
export async function isolateCrashed(
  run: BatchRun,
  work: SubBatchWork,
  progress: Progress,
): Promise<'on' | 'over' | 'give back'> {
  const [quarantined] = work.quarantined
  // Rows in quarantine are passed over, of which nobody dies.
  const isQuarantined = quarantined !== undefined && sameKey(quarantined.lower, progress.at)
  if (run.batch.crashes < maxCrashes || isQuarantined) return 'on'
  const message = `the worker died ${run.batch.crashes} times on these rows`
  // As many rows as the sub-batch had on which the last worker died.
  const size = Math.max(1, Math.floor(progress.baseSize / careAfterCrash ** (run.batch.crashes - 1)))
  return isolateWindow(run, work, { progress, error: { name: 'WorkerDied', message }, size })
}

async function isolateWindow(
  run: BatchRun,
  work: SubBatchWork,
  { progress, error, size }: { progress: Progress; error: ErrorRecord; size: number },
): Promise<'on' | 'over' | 'give back'> {
  const fingerprint = fingerprintOf(error)
  try {
    const { window, rows } = await nextWindow(work, { lower: progress.at, upper: work.end, size })
    const left = await work.database.work.transaction(async (transaction) => {
      await passFence(transaction, work, window.lower)
      const isolated = { ...work.claim, id: uuidv7(), ...window, rows, error, fingerprint }
      const [kept] = await isolate(transaction, isolated)
      if (kept === undefined) throw new ClaimLost()
      return kept
    })
    progress.at = window.upper
    progress.inARow = 0
    progress.onOneRow = 0
    run.held.progress()
    run.telemetry.emit('batch.quarantined', { ...about(run), rows, error, fingerprint })
    const reason = run.outcomes.isolated(fingerprint) ?? overLimit(left)
    return reason === undefined ? 'on' : await stopOperation(run, `${reason}: ${error.message}`)
  } catch (again) {
    if (again instanceof ClaimLost) return (lost(run, 'sub-batch'), 'over')
    if (again instanceof StopAsked) return 'give back'
    // The batch is given back and tried again; what was isolated, if it was, is behind the checkpoint.
    warn(run, 'could not isolate a row', again)
    return 'give back'
  }
}

function overLimit({ total, quarantine_limit }: { total: number; quarantine_limit: number }): string | undefined {
  return total > quarantine_limit ? `more than ${quarantine_limit} rows had to be isolated` : undefined
}

/** The circuit breaker: the operation waits for a person, with the reason, and goes on where it stands. */
async function stopOperation(run: BatchRun, reason: string): Promise<'give back'> {
  const [stopped] = await trip(run.database.control, { ...run.held, reason })
  const { id: operationId, name } = run.operation
  if (stopped !== undefined) run.telemetry.emit('operation.paused', { operationId, name, reason, actor: null })
  return 'give back'
}
