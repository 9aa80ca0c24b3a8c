import { sleep } from '../std/sleep.ts'
import { retry } from '../store/batches.ts'
import { fail, hold } from '../store/lifecycle.ts'
import { classify, isLocked } from '../store/sqlstate.ts'
import { about, lost, recordOf, warn, type BatchRun } from './batch-run.ts'
import { findCheckpoint } from './doubt.ts'
import { isolateRow } from './isolate.ts'
import { driftHoldMs, PlanDrifted } from './preflight/drift.ts'
import type { Progress } from './batch-progress.ts'
import { CheckpointMoved, ClaimLost, sameKey, StopAsked, WindowClosed, type SubBatchWork } from './sub-batch.ts'
import { judge, type Verdict } from './verdict.ts'

/** `on`: go on with the batch. `over`: it is settled, or somebody else's. */
type Next = 'on' | 'over' | 'give back'

/** Decides what an error means for the batch, and does it. */
export async function recover(
  run: BatchRun,
  work: SubBatchWork,
  { progress, error }: { progress: Progress; error: unknown },
): Promise<Next> {
  if (error instanceof ClaimLost) return (lost(run, 'sub-batch'), 'over')
  if (run.held.signal.aborted) return (lost(run, 'renewal'), 'over')
  // Whoever takes it next, most likely this worker, puts it on hold until its window opens.
  if (error instanceof StopAsked || error instanceof WindowClosed || run.ending.aborted) return 'give back'
  const verdict = verdictOn(progress, error)
  switch (verdict.kind) {
    case 'again':
      if (classify(error) === 'retry' && !isLocked(error)) run.sizes.shrink(run.operation.id)
      progress.subBatchSize = verdict.subBatchSize
      progress.lookSize = verdict.subBatchSize
      progress.ahead = undefined
      return lookAgain(run, progress, { error, waitMs: verdict.waitMs })
    case 'reconnect':
      return lookAgain(run, progress, { error, waitMs: verdict.waitMs })
    case 'quarantine':
      return isolateRow(run, work, { progress, error })
    case 'hold':
      return (await holdOperation(run, error, verdict.waitMs), 'over')
    case 'fail':
      return (await settleFailure(run, error), 'over')
  }
}

/**
 * Decides what an error means that came before the first sub-batch. Nothing is in doubt and no row can be at fault: what
 * the server cannot be blamed for is in the definition or in the stored args, and fails the operation.
 */
export async function recoverBeginning(
  run: BatchRun,
  { progress, error }: { progress: Progress; error: unknown },
): Promise<Next> {
  if (run.held.signal.aborted) return (lost(run, 'renewal'), 'over')
  if (run.ending.aborted) return 'give back'
  progress.inARow += 1
  const kind = classify(error)
  const verdict = judge(kind === 'rows' ? 'fatal' : kind, progress, Math.random())
  if (verdict.kind === 'hold') return (await holdOperation(run, error, verdict.waitMs), 'over')
  if (verdict.kind === 'fail' || verdict.kind === 'quarantine') return (await settleFailure(run, error), 'over')
  const { waitMs } = verdict
  run.telemetry.emit('batch.retried', { ...about(run), error: recordOf(run, error), attempt: progress.inARow, waitMs })
  await sleep(waitMs, AbortSignal.any([run.stopping, run.held.signal]))
  return run.stopping.aborted ? 'give back' : 'on'
}

function verdictOn(progress: Progress, error: unknown): Verdict {
  const kind = isLocked(error) ? 'locked' : classify(error)
  progress.inARow += 1
  // What the server or somebody else is to blame for does not count against the row.
  if (kind === 'rows' && progress.subBatchSize === 1) progress.onOneRow += 1
  if (error instanceof CheckpointMoved) return { kind: 'reconnect', waitMs: 0 }
  if (error instanceof PlanDrifted) return { kind: 'hold', waitMs: driftHoldMs }
  return judge(kind, progress, Math.random())
}

/** Waits, then takes the place to go on from the claim row: only that knows whether a doubtful COMMIT took effect. */
async function lookAgain(
  run: BatchRun,
  progress: Progress,
  { error, waitMs }: { error: unknown; waitMs: number },
): Promise<Next> {
  run.telemetry.emit('batch.retried', { ...about(run), error: recordOf(run, error), attempt: progress.inARow, waitMs })
  await sleep(waitMs, AbortSignal.any([run.stopping, run.held.signal]))
  const found = await findCheckpoint(run).catch((unclear: unknown) => holdUnclear(run, unclear))
  if (found === 'held') return 'over'
  if (found === 'stopped') return 'give back'
  if (found === 'lost') return (lost(run, 'sub-batch'), 'over')
  if (classify(error) === 'connection') {
    const here = progress.plainRows > 0 ? 'told by the rows' : 'rolled back'
    const outcome = sameKey(found.checkpoint, progress.at) ? here : 'committed'
    run.telemetry.emit('sub-batch.doubted', { ...about(run), outcome })
  }
  progress.at = found.checkpoint
  progress.unit = undefined
  return 'on'
}

/** How long an operation waits after a doubt that could not be cleared. */
const unclearMs = 30_000

/** A doubt that cannot be cleared must not be silent: the operation is held, and the reason says what the database says. */
export async function holdUnclear(run: BatchRun, error: unknown): Promise<'held'> {
  await holdOperation(run, error, unclearMs)
  return 'held'
}

/** Stops the operation for a while and gives the batch back; what the server lacks is no fault of the batch. */
async function holdOperation(run: BatchRun, error: unknown, waitMs: number): Promise<void> {
  const record = recordOf(run, error)
  const { control } = run.database
  const reason = isLocked(error) ? `another transaction keeps rows locked: ${record.message}` : record.message
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
async function settleFailure(run: BatchRun, error: unknown): Promise<void> {
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
