import type { ErrorRecord } from '../std/error-record.ts'
import { sleep } from '../std/sleep.ts'
import type { Failed, Refused } from '../targets/outcome.ts'
import type { Target } from '../targets/target.ts'
import { sameKey } from '../targets/walk.ts'
import { about, lost, recordOf, type BatchRun, type Begun, type Next } from './batch-run.ts'
import { findCheckpoint } from './doubt.ts'
import { holdOperation, holdUnclear, settleFailure } from './stop-operation.ts'
import { isolateRow } from './isolate.ts'
import { driftHoldMs, PlanDrifted } from './preflight/drift.ts'
import { judge, type Failures, type Verdict } from './verdict.ts'

/** Decides what it means for the batch that a step has not committed, and does it. */
export async function recover(run: BatchRun, begun: Begun, outcome: Refused | Failed): Promise<Next> {
  if (outcome.kind === 'lost') return (lost(run, 'sub-batch'), 'over')
  if (run.held.signal.aborted) return (lost(run, 'renewal'), 'over')
  // Whoever takes it next, most likely this worker, puts it on hold until its window opens.
  if (outcome.kind === 'stop' || outcome.kind === 'closed' || run.ending.aborted) return 'give back'
  return outcome.kind === 'failed' ? recoverFrom(run, begun, outcome.error) : goOn(run, begun)
}

/** The checkpoint is elsewhere: it is looked at, and the batch goes on from there. */
async function goOn(run: BatchRun, begun: Begun): Promise<Next> {
  begun.failures.add('retry', begun.sizes.subBatch)
  const error = { name: 'CheckpointMoved', message: 'the checkpoint is not where the sub-batch was to begin' }
  return lookAgain(run, begun, { error, kind: 'retry', waitMs: 0 })
}

async function recoverFrom(run: BatchRun, begun: Begun, error: unknown): Promise<Next> {
  const { sizes, failures } = begun
  const kind = run.target.classify(error)
  failures.add(kind, sizes.subBatch)
  const verdict = verdictOn(begun, kind, error)
  switch (verdict.kind) {
    case 'again':
      if (kind === 'retry') run.sizes.shrink(run.operation.id)
      sizes.shrinkTo(verdict.subBatchSize)
      begun.position.takeAhead()
      return lookAgain(run, begun, { error: recordOf(run, error), kind, waitMs: verdict.waitMs })
    case 'reconnect':
      return lookAgain(run, begun, { error: recordOf(run, error), kind, waitMs: verdict.waitMs })
    case 'quarantine':
      return isolateRow(run, begun, error)
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
export async function recoverBeginning(run: BatchRun, failures: Failures, error: unknown): Promise<Next> {
  if (run.held.signal.aborted) return (lost(run, 'renewal'), 'over')
  if (run.ending.aborted) return 'give back'
  const kind = run.target.classify(error)
  failures.add(kind, run.operation.sub_batch_size)
  const facts = { inARow: failures.inARow, onOneRow: 0, subBatchSize: run.operation.sub_batch_size }
  const verdict = judge(kind === 'rows' ? 'fatal' : kind === 'locked' ? 'retry' : kind, facts, Math.random())
  if (verdict.kind === 'hold') return (await holdOperation(run, error, verdict.waitMs), 'over')
  if (verdict.kind === 'fail' || verdict.kind === 'quarantine') return (await settleFailure(run, error), 'over')
  const { waitMs } = verdict
  const attempt = failures.inARow
  run.telemetry.emit('batch.retried', { ...about(run), error: recordOf(run, error), attempt, waitMs })
  await sleep(waitMs, AbortSignal.any([run.stopping, run.held.signal]))
  return run.stopping.aborted ? 'give back' : 'on'
}

function verdictOn({ sizes, failures }: Begun, kind: ReturnType<Target['classify']>, error: unknown): Verdict {
  if (error instanceof PlanDrifted) return { kind: 'hold', waitMs: driftHoldMs }
  const { inARow, onOneRow } = failures
  return judge(kind, { inARow, onOneRow, subBatchSize: sizes.subBatch }, Math.random())
}

/** Waits, then takes the place to go on from the claim row: only that knows whether a doubtful COMMIT took effect. */
async function lookAgain(
  run: BatchRun,
  { position, sizes, failures }: Begun,
  { error, kind, waitMs }: { error: ErrorRecord; kind: ReturnType<Target['classify']>; waitMs: number },
): Promise<Next> {
  run.telemetry.emit('batch.retried', { ...about(run), error, attempt: failures.inARow, waitMs })
  await sleep(waitMs, AbortSignal.any([run.stopping, run.held.signal]))
  const found = await findCheckpoint(run).catch((unclear: unknown) => holdUnclear(run, unclear))
  if (found === 'held') return 'over'
  if (found === 'stopped') return 'give back'
  if (found === 'lost') return (lost(run, 'sub-batch'), 'over')
  if (kind === 'connection') {
    const here = position.isPlain ? 'told by the rows' : 'rolled back'
    const outcome = sameKey(found.checkpoint, position.at) ? here : 'committed'
    run.telemetry.emit('sub-batch.doubted', { ...about(run), outcome })
  }
  position.resume(found.checkpoint)
  sizes.begin()
  return 'on'
}
