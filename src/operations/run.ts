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
 * Rows that cannot be processed are found by halving the sub-batch: what is good commits on the way, and the one bad
 * row is isolated with its error while the batch goes on behind it.
 *
 * On a crash the lease runs out, any worker frees the batch, and another takes it over at its checkpoint. When the
 * connection breaks around a COMMIT, nobody guesses: the claim row is read again, waiting for the doubtful transaction
 * to end, and says where to go on.
 *
 * Decisions.
 * - Everything that a person sets is read by the fence. State, pace, largest sub-batch, window and the kill switches
 *   come with the row that each transaction locks anyway, so a change takes effect from the next sub-batch and costs no
 *   statement.
 * - The sub-batch is halved, not the batch. No batch is split or added, any cursor will do, and it takes at most
 *   log2(rows of the sub-batch) failed attempts.
 * - The event `sub-batch.doubted` reports what the claim row showed after a broken COMMIT, so the log answers what
 *   happened.
 * - Other decisions are with their code: carving in `take.ts`, sizes in `size.ts`, empty stretches in `look.ts`,
 *   strides in `stride.ts`, checks before the start in `preflight/check.ts`, states in `states.ts`.
 */
import { release } from '../store/batches.ts'
import { charge } from '../store/picking.ts'
import { mayKeepRows } from '../targets/surroundings.ts'
import { about, lost, warn, type BatchRun } from './batch-run.ts'
import { settledScope } from './cut-off.ts'
import { settleFinish } from './doubt.ts'
import { farSince } from './far-reads.ts'
import { isolateCrashed } from './isolate.ts'
import { watchPlan } from './preflight/drift.ts'
import { holdUnclear, recover, recoverBeginning } from './recover.ts'
import { beginning, carveSize, sizeAfter, type Progress } from './batch-progress.ts'
import { look } from './look.ts'
import { targetMs, type Unit } from './size.ts'
import { addUnit, firstStride, meanOf, nextStride, noStrides, rowsAtOnce, strideOf } from './stride.ts'
import {
  isFollowed,
  nextWindow,
  runSubBatch,
  sameKey,
  windowBeyond,
  type NextWindow,
  type SubBatchResult,
  type SubBatchWork,
} from './sub-batch.ts'
import { isOpenFor } from './off-peak.ts'
import { passQuarantined, quarantinedOf } from './pass-quarantined.ts'
import { walkBy } from './walk.ts'

/** Works on a batch until it is finished, given back, or lost. Never throws: every end is settled in the database. */
export async function runBatch(run: BatchRun): Promise<void> {
  const progress = beginning(run)
  run.telemetry.emit('batch.started', {
    ...about(run),
    workerId: run.batch.worker_id,
    resumed: run.batch.errors > 0 || run.batch.crashes > 0 || !sameKey(progress.at, run.batch.lower_key),
  })
  const began = performance.now()
  const work = await begin(run, progress)
  if (work !== undefined) await walk(run, work, progress)
  await account(run, performance.now() - began)
}

/** Prepares a batch, again where the error may pass; undefined: it is settled, or somebody else's. */
async function begin(run: BatchRun, progress: Progress): Promise<SubBatchWork | undefined> {
  for (;;) {
    try {
      const work = await prepare(run)
      progress.inARow = 0
      return work
    } catch (error) {
      const next = await recoverBeginning(run, { progress, error })
      if (next === 'give back') await giveBack(run)
      if (next !== 'on') return undefined
    }
  }
}

/** Stored args meet today's code here: what does not fit any more fails the operation before it touches a row. */
async function prepare(run: BatchRun): Promise<SubBatchWork> {
  const { held, leaseMs, operation, database } = run
  const bound = await run.definition.bind(operation.args)
  const startedAt = operation.created_text
  const signal = AbortSignal.any([held.signal, run.ending])
  const scope = await settledScope(database.control, run.definition, { bound, startedAt })
  const keeps = await mayKeepRows(database.control, run.walk.table)
  // Also for what is retried after the second pass: its batch belongs to the first one.
  const verifies = operation.pass > 1
  return {
    database,
    claim: held,
    operationId: operation.id,
    pass: run.batch.pass,
    walk: walkBy(run.walk, { carve: operation.carve, scope }),
    scope,
    bound,
    isOpen: (window, now) => isOpenFor(run.definition, window, now),
    startedAt,
    leaseMs,
    signal,
    resting: AbortSignal.any([run.stopping, held.signal]),
    ...(await quarantinedOf(run)),
    // A pooler needs a transaction for our limits; a second pass has few rows to change and looks far beyond them.
    inOne: !database.pooled && !verifies && operation.run_window === null && !keeps,
    mayKeepRows: keeps,
    leavesNone: verifies || (keeps && bound.change !== undefined),
    commitLater: run.definition.commit === 'later',
    strides: keeps ? noStrides : await strideOf(run, { scope, change: bound.change }),
    since: await farSince(run),
  }
}

async function walk(run: BatchRun, work: SubBatchWork, progress: Progress): Promise<void> {
  const crashed = await isolateCrashed(run, work, progress)
  if (crashed === 'give back') return giveBack(run)
  if (crashed === 'over') return
  while (!sameKey(progress.at, run.batch.upper_key)) {
    await run.trusted(run.stopping)
    if (run.held.signal.aborted) return lost(run, 'renewal')
    if (run.stopping.aborted) return giveBack(run)
    try {
      if (await run.governor.mustHold(run.stopping)) return await giveBack(run)
      if (await passQuarantined(run, work, progress)) continue
      await watchPlan(run, work, progress.at)
      const looked = progress.empty ? await look(run, work, progress) : undefined
      if (looked !== undefined) await commit(run, work, { progress, next: looked })
      else if (!progress.empty) await step(run, work, progress)
    } catch (error) {
      const next = await recover(run, work, { progress, error })
      if (next === 'give back') return giveBack(run)
      if (next === 'over') return
    }
  }
  await finish(run, progress)
}

async function step(run: BatchRun, work: SubBatchWork, progress: Progress): Promise<void> {
  const { at: lower, ahead } = progress
  const of = progress.plainRows > 0 ? 1 : work.strides.of
  const size = progress.subBatchSize * of
  progress.ahead = undefined
  if (ahead?.stride !== undefined) return commit(run, work, { progress, next: ahead })
  // Found by the sub-batch before, for the size that it had: good unless another is wanted by far.
  const isGood = ahead !== undefined && !isFar(size, ahead.rows) && !isFar(ahead.rows, size)
  const next = isGood ? ahead : await nextWindow(work, { lower, upper: work.end, size })
  const stride = of === 1 ? undefined : await firstStride(work, next)
  await commit(run, work, { progress, next: { ...next, stride } })
}

/** Whether a size is so far behind another that it pays to look again. */
function isFar(rows: number, wanted: number): boolean {
  return wanted > rows * 1.5
}

async function commit(
  run: BatchRun,
  work: SubBatchWork,
  { progress, next }: { progress: Progress; next: NextWindow },
): Promise<void> {
  const beyond = isFollowed(work, next) ? windowBeyond(work, next, next.rows) : undefined
  void run.cuts.farEnds.search(run, work)
  if (next.stride !== undefined) progress.plainRows = next.rows
  const result = await runSubBatch(work, next)
  const { elapsedMs: ms, rowsMatched, rowsChanged, limits } = result
  const rest = nextStride(next, rowsMatched)
  const rowsSeen = rest === undefined ? next.rows : 0
  if (rest === undefined) progress.at = next.window.upper
  progress.plainRows = Math.max(0, progress.plainRows - rowsSeen)
  progress.inARow = 0
  progress.onOneRow = 0
  progress.unit = addUnit(progress.unit, { rows: rowsAtOnce(next), ms, walBytes: result.walBytes })
  // The strides of a window differ: the first finds full pages, the others the room that it left. Their mean counts.
  const isRecovering = progress.subBatchSize < progress.wantedSize
  if (rest === undefined) {
    progress.wantedSize = learnSize(run, work, { unit: meanOf(progress.unit), limits })
    progress.unit = undefined
  }
  progress.empty = work.pass > 1 || (work.scope !== undefined && rest === undefined && rowsMatched === 0)
  run.sizes.looked(run.operation.id, progress.empty ? progress.lookSize : undefined)
  progress.subBatchSize = isRecovering ? Math.min(progress.wantedSize, progress.subBatchSize * 2) : progress.wantedSize
  progress.ahead = rest ?? result.ahead ?? (await beyond)
  progress.done = { rows: progress.done.rows + rowsSeen, ms: progress.done.ms + ms }
  if (progress.done.rows > carveSize(run) / 2) run.cuts.prepare(run.operation, sizeAfter(run, progress))
  // Hours that were set meanwhile have to be looked at before each change.
  work.inOne &&= limits.run_window === null
  run.held.progress()
  run.outcomes.ok()
  const { walBytes } = result
  const [elapsedMs, aim] = [Math.round(ms), aimedMs(run, work)]
  const counts = { rowsSeen, rowsMatched, rowsChanged, elapsedMs, walBytes, targetMs: aim }
  run.telemetry.emit('sub-batch.committed', { ...about(run), ...counts })
  // The rest is between transactions, never inside one.
  const signal = work.resting
  const done = { elapsedMs: ms, rowsChanged, walBytes, pace: limits.pace }
  await run.governor.rest(done, { signal, alive: () => run.held.progress() })
}

/** How long the rows of a sub-batch are to take, where sizes are found by that. */
function aimedMs({ operation, governor: { load } }: BatchRun, { bound }: SubBatchWork): number | null {
  return operation.tuned_size === null || bound.effects === 'external' ? null : targetMs(load)
}

/** The size that is wanted next: what the limits say, or what is found out where it is left to us. */
function learnSize(
  { operation, sizes, governor: { load } }: BatchRun,
  { bound, pass }: SubBatchWork,
  { unit, limits }: { unit: Unit; limits: SubBatchResult['limits'] },
): number {
  const most = limits.sub_batch_size
  if (operation.tuned_size === null) return most
  // The second pass changes few rows and says nothing of the many.
  if (pass > 1) return Math.min(most, sizes.rows(operation.id, operation.tuned_size))
  return sizes.learn(operation.id, unit, { external: bound.effects === 'external', most, load })
}

/** A batch that was cut by statistics may have more rows than meant, but not that many times as many. */
const farMore = 4

async function finish(run: BatchRun, progress: Progress): Promise<void> {
  const { operation, sizes } = run
  if (progress.done.rows > farMore * carveSize(run)) run.cuts.distrust(operation)
  const done = await settleFinish(run, {
    carveSize: sizeAfter(run, progress),
    tunedSize: operation.tuned_size === null ? null : sizes.rows(operation.id, operation.tuned_size),
  }).catch((unclear: unknown) => holdUnclear(run, unclear))
  if (done === 'lost') return lost(run, 'finish')
  if (done === 'stopped' || done === 'held') return
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
    const given = await release(run.database.control, run.held)
    if (given.length === 0) return lost(run, 'finish')
    run.telemetry.emit('batch.released', about(run))
  } catch (error) {
    // The lease runs out instead; the next worker goes on at the same checkpoint.
    warn(run, 'could not give a batch back', error)
  }
}

/** What the batch has cost goes to its tenant's share, however it ended. */
async function account(run: BatchRun, busyMs: number): Promise<void> {
  try {
    await charge(run.database.control, { operationId: run.operation.id, busyMs })
  } catch (error) {
    // Fairness can do without one entry.
    warn(run, 'could not account for a batch', error)
  }
}
