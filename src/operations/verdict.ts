import { backoffMs } from '../std/backoff.ts'
import type { ErrorClass } from '../store/sqlstate.ts'

/** What to do after an error in a sub-batch. */
export type Verdict =
  /** Wait, look at the claim row, go on from its checkpoint. */
  | { kind: 'reconnect'; waitMs: number }
  /** Wait, then the same rows again, in sub-batches of this size. */
  | { kind: 'again'; waitMs: number; subBatchSize: number }
  /** Give the batch back, to be tried again later. */
  | { kind: 'retry'; waitMs: number }
  /** Stop the operation for a while. */
  | { kind: 'hold'; waitMs: number }
  /** End the operation. */
  | { kind: 'fail' }

/** How often a transient error is met with another try at once, before the operation is held. */
const triesAtOnce = 5
/** How many errors that point at the rows or the handler a batch may have before the operation fails. */
const maxErrors = 3

/** Decides by the class of the error, how many came in a row here, and how many the batch has had in all. */
export function judge(
  error: ErrorClass,
  batch: { inARow: number; errors: number; subBatchSize: number },
  random: number,
): Verdict {
  const soon = backoffMs(batch.inARow, { baseMs: 200, maxMs: 5_000 }, random)
  switch (error) {
    case 'connection':
      return { kind: 'reconnect', waitMs: soon }
    case 'retry':
      if (batch.inARow > triesAtOnce)
        return { kind: 'hold', waitMs: backoffMs(1, { baseMs: 30_000, maxMs: 30_000 }, random) }
      return { kind: 'again', waitMs: soon, subBatchSize: Math.max(1, Math.floor(batch.subBatchSize / 2)) }
    case 'hold':
      return { kind: 'hold', waitMs: backoffMs(1, { baseMs: 20_000, maxMs: 20_000 }, random) }
    case 'rows':
      if (batch.errors + 1 >= maxErrors) return { kind: 'fail' }
      return { kind: 'retry', waitMs: backoffMs(batch.errors + 1, { baseMs: 1_000, maxMs: 30_000 }, random) }
    case 'fatal':
      return { kind: 'fail' }
  }
}
