import { backoffMs } from '../std/backoff.ts'
import type { ErrorClass } from '../store/sqlstate.ts'

/** Errors since the last sub-batch that committed. */
export class Failures {
  #inARow = 0
  #onOneRow = 0

  get inARow(): number {
    return this.#inARow
  }

  /** Those of them that point at a single row. */
  get onOneRow(): number {
    return this.#onOneRow
  }

  /** Counts an error. What the server or somebody else is to blame for does not count against the row. */
  add(kind: ErrorClass | 'locked', subBatchSize: number): void {
    this.#inARow += 1
    if (kind === 'rows' && subBatchSize === 1) this.#onOneRow += 1
  }

  /** Something has committed. */
  forget(): void {
    this.#inARow = 0
    this.#onOneRow = 0
  }
}

/** What to do after an error in a sub-batch. */
export type Verdict =
  /** Wait, look at the claim row, go on from its checkpoint. */
  | { kind: 'reconnect'; waitMs: number }
  /** Wait, then the same rows again, in sub-batches of this size. */
  | { kind: 'again'; waitMs: number; subBatchSize: number }
  /** Isolate the one row that cannot be processed, and go on behind it. */
  | { kind: 'quarantine' }
  /** Stop the operation for a while. */
  | { kind: 'hold'; waitMs: number }
  /** End the operation. */
  | { kind: 'fail' }

/** How often a transient error is met with another try at once, before the operation is held. */
const triesAtOnce = 5
/** How often a lock is met with another try: down to one row, and then some waits for that row alone. */
const triesOfLocked = 12
/** How much smaller a sub-batch becomes that met a locked row: each try keeps its other rows from everybody. */
const lockedShrinkBy = 8
/** How often a single row is tried before it is isolated: what ails it may pass. */
const triesOfOneRow = 3

/**
 * Decides by the class of the error and how many came in a row here. Errors that point at the rows are halved down:
 * the good rows before the bad one commit on the way, and after at most log2(size) halvings it stands alone. A lock is no
 * fault of its row: sub-batches become smaller until the locked row alone is waited for.
 */
export function judge(
  error: ErrorClass | 'locked',
  run: { inARow: number; onOneRow: number; subBatchSize: number },
  random: number,
): Verdict {
  const soon = backoffMs(run.inARow, { baseMs: 200, maxMs: 5_000 }, random)
  const half = Math.max(1, Math.floor(run.subBatchSize / 2))
  const later: Verdict = { kind: 'hold', waitMs: backoffMs(1, { baseMs: 30_000, maxMs: 30_000 }, random) }
  switch (error) {
    case 'connection':
      return { kind: 'reconnect', waitMs: soon }
    case 'retry':
      return run.inARow > triesAtOnce ? later : { kind: 'again', waitMs: soon, subBatchSize: half }
    case 'locked':
      if (run.inARow > triesOfLocked) return later
      if (run.subBatchSize === 1) return { kind: 'again', waitMs: soon, subBatchSize: 1 }
      return { kind: 'again', waitMs: 0, subBatchSize: Math.max(1, Math.floor(run.subBatchSize / lockedShrinkBy)) }
    case 'hold':
      return { kind: 'hold', waitMs: backoffMs(1, { baseMs: 20_000, maxMs: 20_000 }, random) }
    case 'rows':
      if (run.subBatchSize > 1) return { kind: 'again', waitMs: 0, subBatchSize: half }
      if (run.onOneRow < triesOfOneRow) {
        return {
          kind: 'again',
          waitMs: backoffMs(run.onOneRow, { baseMs: 100, maxMs: 1_000 }, random),
          subBatchSize: 1,
        }
      }
      return { kind: 'quarantine' }
    case 'fatal':
      return { kind: 'fail' }
  }
}
