/**
 * Operations: how a batch runs.
 *
 * The model. An operation walks a table along its cursor. Workers carve key ranges off it, called batches; each batch
 * is leased by one worker under a nonce. A batch is done in sub-batches, each one transaction that locks the claim by
 * its nonce, changes the rows of one key window and moves the checkpoint.
 *
 * The invariants. The checkpoint moves with the rows, so a crash repeats nothing and skips nothing. Ranges are written
 * once and never carved again, so no two batches share a key. Only the holder of the nonce commits, so it does not
 * matter how late a stalled worker wakes up. No statement is unbounded: each carries a key window.
 *
 * On a crash the lease runs out, any worker frees the batch, and another takes it over at its checkpoint. When the
 * connection breaks around a COMMIT, nobody guesses: the claim row is read again, waiting for the doubtful transaction
 * to end, and says where to go on.
 */
import { errorRecord } from '../std/error-record.ts'
import { sleep } from '../std/sleep.ts'
import * as batches from '../store/batches.ts'
import * as operations from '../store/operations.ts'
import type { Key } from '../store/operations.ts'
import { classify } from '../store/sqlstate.ts'
import { about, type BatchRun } from './batch-run.ts'
import { findCheckpoint, settleFinish } from './doubt.ts'
import { CheckpointMoved, ClaimLost, nextWindow, runSubBatch, sameKey, type SubBatchWork } from './sub-batch.ts'
import { judge, type Verdict } from './verdict.ts'

interface Progress {
  at: Key | null
  subBatchSize: number
  /** Errors since the last sub-batch that committed. */
  inARow: number
}

/** Works on a batch until it is finished, given back, or lost. Never throws: every end is settled in the database. */
export async function runBatch(run: BatchRun): Promise<void> {
  const progress: Progress = { at: run.batch.checkpoint, subBatchSize: run.batch.sub_batch_size, inARow: 0 }
  run.telemetry.emit('batch.started', {
    ...about(run),
    workerId: run.batch.worker_id,
    resumed: run.batch.errors > 0 || run.batch.crashes > 0 || !sameKey(progress.at, run.batch.lower_key),
  })
  const work = await prepare(run).catch(async (error: unknown) => {
    await settle(run, { kind: 'fail' }, error)
    return undefined
  })
  if (work === undefined) return
  while (!sameKey(progress.at, run.batch.upper_key)) {
    await run.trusted(run.stopping)
    if (run.held.signal.aborted) return lost(run, 'renewal')
    if (run.stopping.aborted) return giveBack(run)
    try {
      await step(run, work, progress)
    } catch (error) {
      if ((await recover(run, progress, error)) === 'over') return
    }
  }
  await finish(run)
}

/** Stored args meet today's code here: what does not fit any more fails the operation before it touches a row. */
async function prepare(run: BatchRun): Promise<SubBatchWork> {
  const { held, walk, leaseMs, operation, database } = run
  const bound = await run.definition.bind(operation.args)
  const startedAt = operation.created_text
  const signal = AbortSignal.any([held.signal, run.ending])
  return { pool: database.work, claim: held, walk, scope: bound.scope(startedAt), bound, startedAt, leaseMs, signal }
}

async function step(run: BatchRun, work: SubBatchWork, progress: Progress): Promise<void> {
  const { batch, database, walk, held } = run
  const rest = { lower: progress.at, upper: batch.upper_key, size: progress.subBatchSize }
  const next = await nextWindow(database.work, walk, rest)
  const result = await runSubBatch(work, next)
  progress.at = next.window.upper
  progress.inARow = 0
  held.progress()
  run.telemetry.emit('sub-batch.committed', { ...about(run), rowsSeen: next.rows, ...result })
}

/** Decides what an error means for the batch. `over`: this worker has nothing more to do with it. */
async function recover(run: BatchRun, progress: Progress, error: unknown): Promise<'on' | 'over'> {
  if (error instanceof ClaimLost) return (lost(run, 'sub-batch'), 'over')
  if (run.held.signal.aborted) return (lost(run, 'renewal'), 'over')
  if (run.ending.aborted) return (await giveBack(run), 'over')
  progress.inARow += 1
  const counts = { inARow: progress.inARow, errors: run.batch.errors, subBatchSize: progress.subBatchSize }
  const verdict: Verdict =
    error instanceof CheckpointMoved ? { kind: 'reconnect', waitMs: 0 } : judge(classify(error), counts, Math.random())
  switch (verdict.kind) {
    case 'again':
      progress.subBatchSize = verdict.subBatchSize
      return lookAgain(run, progress, { error, waitMs: verdict.waitMs })
    case 'reconnect':
      return lookAgain(run, progress, { error, waitMs: verdict.waitMs })
    case 'retry':
    case 'hold':
    case 'fail':
      await settle(run, verdict, error)
      return 'over'
  }
}

/** Waits, then takes the place to go on from the claim row: only that knows whether a doubtful COMMIT took effect. */
async function lookAgain(
  run: BatchRun,
  progress: Progress,
  after: { error: unknown; waitMs: number },
): Promise<'on' | 'over'> {
  run.telemetry.emit('batch.retried', {
    ...about(run),
    error: errorRecord(after.error),
    attempt: progress.inARow,
    waitMs: after.waitMs,
  })
  await sleep(after.waitMs, AbortSignal.any([run.stopping, run.held.signal]))
  const found = await findCheckpoint(run)
  if (found === 'stopped') return (await giveBack(run), 'over')
  if (found === 'lost') return (lost(run, 'sub-batch'), 'over')
  if (classify(after.error) === 'connection') {
    const outcome = sameKey(found.checkpoint, progress.at) ? 'rolled back' : 'committed'
    run.telemetry.emit('sub-batch.doubted', { ...about(run), outcome })
  }
  progress.at = found.checkpoint
  return 'on'
}

/** Gives the batch up after an error, in the way that the verdict says. */
async function settle(
  run: BatchRun,
  verdict: Extract<Verdict, { kind: 'retry' | 'hold' | 'fail' }>,
  error: unknown,
): Promise<void> {
  const record = errorRecord(error)
  const { control } = run.database
  try {
    if (verdict.kind === 'fail') {
      const [failed] = await operations.fail(control, { ...run.held, error: record })
      if (failed === undefined) return lost(run, 'finish')
      run.telemetry.emit('operation.failed', { operationId: failed.id, name: run.operation.name, error: record })
      return
    }
    if (verdict.kind === 'hold') await holdOperation(run, record.message, verdict.waitMs)
    const counts = verdict.kind === 'retry'
    const kept = await batches.retry(control, { ...run.held, error: record, waitMs: verdict.waitMs, counts })
    if (kept.length === 0) return lost(run, 'finish')
    run.telemetry.emit('batch.retried', {
      ...about(run),
      error: record,
      attempt: run.batch.errors + 1,
      waitMs: verdict.waitMs,
    })
  } catch (again) {
    // What could not be written is settled by the lease: it runs out and the batch is taken up where it stands.
    warn(run, 'could not record an error', again)
  }
}

async function holdOperation(run: BatchRun, reason: string, waitMs: number): Promise<void> {
  const [held] = await operations.hold(run.database.control, { ...run.held, reason, waitMs })
  if (held === undefined) return
  run.telemetry.emit('operation.held', {
    operationId: run.operation.id,
    name: run.operation.name,
    reason,
    until: held.until,
  })
}

async function finish(run: BatchRun): Promise<void> {
  const done = await settleFinish(run)
  if (done === 'lost') return lost(run, 'finish')
  if (done === 'stopped') return
  run.telemetry.emit('batch.finished', {
    ...about(run),
    rowsSeen: done.rows_seen,
    rowsChanged: done.rows_changed,
    subBatches: done.sub_batches,
    busyMs: done.busy_ms,
  })
}

async function giveBack(run: BatchRun): Promise<void> {
  try {
    const given = await batches.release(run.database.control, run.held)
    if (given.length === 0) return lost(run, 'finish')
    run.telemetry.emit('batch.released', about(run))
  } catch (error) {
    // The lease runs out instead; the next worker goes on at the same checkpoint.
    warn(run, 'could not give a batch back', error)
  }
}

function lost(run: BatchRun, at: 'renewal' | 'sub-batch' | 'finish'): void {
  run.telemetry.emit('batch.lost', { ...about(run), at })
}

function warn(run: BatchRun, what: string, error: unknown): void {
  run.telemetry.emit('warning', { message: `${run.operation.name}: ${what}: ${errorRecord(error).message}` })
}
