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
 * - Other decisions are with their code: carving in `take.ts`, sizes in `size.ts`, empty stretches in `next-stretch.ts`,
 *   strides in `targets/postgres/strides.ts`, checks before the start in `targets/postgres/preflight/check.ts`, states in `states.ts`.
 */
import type { Changed, Failed, Outcome } from '../targets/outcome.ts'
import { sameKey } from '../targets/walk.ts'
import type { Stretch } from '../targets/work.ts'
import { begin } from './batch-begin.ts'
import { account, finish, giveBack } from './batch-end.ts'
import { about, lost, type BatchRun, type Begun, type Next } from './batch-run.ts'
import { isolateCrashed } from './isolate.ts'
import { nextStretch, type Passed } from './next-stretch.ts'
import { recover } from './recover.ts'
import { carveRows, sizeAfter, targetMs, type Unit } from './size.ts'

/** Works on a batch until it is finished, given back, or lost. Never throws: every end is settled in the database. */
export async function runBatch(run: BatchRun): Promise<void> {
  const { batch } = run
  run.telemetry.emit('batch.started', {
    ...about(run),
    workerId: batch.worker_id,
    resumed: batch.errors > 0 || batch.crashes > 0 || !sameKey(batch.checkpoint, batch.lower_key),
  })
  const began = performance.now()
  const begun = await begin(run)
  if (begun !== undefined) await loop(run, begun)
  await account(run, performance.now() - began)
}

async function loop(run: BatchRun, begun: Begun): Promise<void> {
  const crashed = await isolateCrashed(run, begun)
  if (crashed === 'give back') return giveBack(run)
  if (crashed === 'over') return
  for (;;) {
    const next = await turn(run, begun).catch(async (error: unknown) => recover(run, begun, failed(error)))
    if (next === 'give back') return giveBack(run)
    if (next === 'over') return
  }
}

const failed = (error: unknown): Failed => ({ kind: 'failed', error })

/** One stretch of the batch. */
async function turn(run: BatchRun, begun: Begun): Promise<Next> {
  const { position } = begun
  if (position.isAtEnd) return finish(run, begun)
  const paced = await pace(run)
  if (paced !== 'on') return paced
  const next = await nextStretch(run, begun)
  if (next.kind === 'look again') return 'on'
  if (next.kind === 'pass over') return passOver(run, begun, next)
  const outcome = await commit(run, begun, next)
  if (outcome.kind !== 'committed') return recover(run, begun, outcome)
  learn(run, begun, outcome)
  await report(run, begun, outcome)
  return 'on'
}

/** Whether a transaction may begin, as far as the lease, the worker and the health of the database are concerned. */
async function pace(run: BatchRun): Promise<Next> {
  await run.trusted(run.stopping)
  if (run.held.signal.aborted) return (lost(run, 'renewal'), 'over')
  if (run.stopping.aborted) return 'give back'
  return (await run.governor.mustHold(run.stopping)) ? 'give back' : 'on'
}

async function commit(
  run: BatchRun,
  { work, position }: Begun,
  { next }: { next: Stretch },
): Promise<Outcome<Changed>> {
  const { end } = position
  void run.cuts.farEnds.search(run, { ...work, end })
  position.begin(next)
  return run.target.commit(work, { next, end })
}

/** Moves the checkpoint past a stretch in which there is nothing to do. */
async function passOver(run: BatchRun, begun: Begun, { next, ahead, began, counts }: Passed): Promise<Next> {
  const { work, position, sizes } = begun
  const outcome = await run.target.passOver(work, { ...next, began })
  if (outcome.kind !== 'committed') return recover(run, begun, outcome)
  position.pass(next.window.upper, ahead)
  if (!counts) return 'on'
  run.sizes.looked(run.operation.id, sizes.look)
  run.cuts.prepare(run.operation, sizeAfter(run.operation, position.done))
  run.held.progress()
  const { elapsedMs } = outcome
  const none = { rowsMatched: 0, rowsChanged: 0, walBytes: 0, targetMs: null }
  run.telemetry.emit('sub-batch.committed', { ...about(run), rowsSeen: next.rows, elapsedMs, ...none })
  return 'on'
}

/** What a sub-batch tells about the ones after it. */
function learn(run: BatchRun, { work, position, sizes, failures }: Begun, changed: Changed): void {
  const { operation } = run
  failures.forget()
  position.advance(changed)
  const most = changed.limits.sub_batch_size
  sizes.learn(changed, { scoped: work.scope !== undefined, wanted: (unit) => learnSize(run, work, { unit, most }) })
  run.sizes.looked(operation.id, sizes.looksFirst ? sizes.look : undefined)
  const { done } = position
  if (done.rows > carveRows(operation) / 2) run.cuts.prepare(operation, sizeAfter(operation, done))
  run.held.progress()
  run.outcomes.ok()
}

/** The size that is wanted next: what the limits say, or what is found out where it is left to us. */
function learnSize(
  { operation, sizes, governor: { load } }: BatchRun,
  { bound, pass }: Begun['work'],
  { unit, most }: { unit: Unit; most: number },
): number {
  if (operation.tuned_size === null) return most
  // The second pass changes few rows and says nothing of the many.
  if (pass > 1) return Math.min(most, sizes.rows(operation.id, operation.tuned_size))
  return sizes.learn(operation.id, unit, { external: bound.effects === 'external', most, load })
}

/** Tells what was done, and rests: between transactions, never inside one. */
async function report(run: BatchRun, { work, resting: signal }: Begun, changed: Changed): Promise<void> {
  const { rowsSeen, rowsMatched, rowsChanged, elapsedMs: ms, walBytes, limits } = changed
  const counts = { rowsSeen, rowsMatched, rowsChanged, elapsedMs: Math.round(ms), walBytes }
  run.telemetry.emit('sub-batch.committed', { ...about(run), ...counts, targetMs: aimedMs(run, work) })
  const done = { elapsedMs: ms, rowsChanged, walBytes, pace: limits.pace }
  await run.governor.rest(done, { signal, alive: () => run.held.progress() })
}

/** How long the rows of a sub-batch are to take, where sizes are found by that. */
function aimedMs({ operation, governor: { load } }: BatchRun, { bound }: Begun['work']): number | null {
  return operation.tuned_size === null || bound.effects === 'external' ? null : targetMs(load)
}
