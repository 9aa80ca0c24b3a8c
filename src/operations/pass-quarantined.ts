/**
 * Rows in quarantine, as a second pass meets them. They were tried and counted when they were isolated, and a person takes
 * them up again: the pass goes from one stretch of other rows to the next and steps over them in between. So neither the
 * change nor the scope, which may be what fails, ever sees them.
 */
import { quarantinedWithin } from '../targets/quarantined.ts'
import type { Progress } from './batch-progress.ts'
import type { BatchRun } from './batch-run.ts'
import { passOver, sameKey, type SubBatchWork } from './sub-batch.ts'

type Stretches = Pick<SubBatchWork, 'quarantined' | 'end'>

/** What of a batch is in quarantine, and where its first stretch of other rows ends. */
export async function quarantinedOf({ database, operation, batch, walk }: BatchRun): Promise<Stretches> {
  const window = { lower: batch.checkpoint, upper: batch.upper_key }
  if (batch.pass === 1) return { quarantined: [], end: window.upper }
  const quarantined = await quarantinedWithin(database.control, { operationId: operation.id, walk, window })
  return { quarantined, end: quarantined[0]?.lower ?? window.upper }
}

/** Steps over rows in quarantine, where the walk has come to some, and tells so. */
export async function passQuarantined(run: BatchRun, work: SubBatchWork, progress: Progress): Promise<boolean> {
  const [next, ...others] = work.quarantined
  if (next === undefined) return false
  const isHere = sameKey(progress.at, next.lower)
  // The answer to the step over them may have been lost.
  if (!isHere && !sameKey(progress.at, next.upper)) return false
  if (isHere) await passOver(work, { window: next, rows: 0 }, performance.now())
  progress.at = next.upper
  progress.ahead = undefined
  work.quarantined = others
  work.end = others[0]?.lower ?? run.batch.upper_key
  return true
}
