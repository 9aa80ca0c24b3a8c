import type { BatchRun } from '../batch-run.ts'
import { startedFor, type Key } from '../../store/operations.ts'
import type { Database } from '../../store/database.ts'
import type { Work } from '../../targets/work.ts'
import { byForce, refusals } from './finding.ts'
import type { PlanFinding } from '../../targets/findings.ts'

/** How long an operation is held before its plan is looked at again. */
export const driftHoldMs = 60_000

/** A plan that was good when the operation started is no longer. */
export class PlanDrifted extends Error {
  override readonly name = 'PlanDrifted'
}

/** The plan of an operation is looked at that often in one process, whichever of its batches run there. */
const everyMs = 2_000

const lastLooks = new WeakMap<Database, Map<string, number>>()

/**
 * Checks before the first window of an operation in this process, and then every two seconds, whether an index still
 * finds the next window: an index may have been dropped, or statistics may have gone wrong. Throws when far more rows
 * would be read than the window has. A check that fails changes nothing.
 *
 * Decision: it uses EXPLAIN, outside the transaction of the sub-batch. The server's counters arrive late and include
 * what other sessions read.
 */
export async function watchPlan(run: BatchRun, work: Work, at: Key | null): Promise<void> {
  if (!isDue(run)) return
  const [finding] = refusals(await look(run, work, at).catch(() => []))
  if (finding === undefined) return
  // Who started it by force knows, and wants it all the same.
  const { id } = run.operation
  if ((await startedFor(run.database.control, { id, beginning: byForce })).length > 0) return
  // After the hold the first thing is to look again.
  looksOf(run).delete(run.operation.id)
  throw new PlanDrifted(`the plan has changed: ${finding.what}. ${finding.why}. ${finding.remedy}`)
}

function isDue(run: BatchRun): boolean {
  const looks = looksOf(run)
  const now = performance.now()
  if (now - (looks.get(run.operation.id) ?? Number.NEGATIVE_INFINITY) < everyMs) return false
  looks.delete(run.operation.id)
  looks.set(run.operation.id, now)
  // Those that are over need not be remembered; the oldest come first.
  for (const id of looks.keys()) if (looks.size > 1_000) looks.delete(id)
  return true
}

function looksOf({ database }: BatchRun): Map<string, number> {
  const looks = lastLooks.get(database) ?? new Map<string, number>()
  lastLooks.set(database, looks)
  return looks
}

async function look(
  { definition, operation, batch, target }: BatchRun,
  work: Work,
  at: Key | null,
): Promise<PlanFinding[]> {
  return target.check.plans({
    walk: work.walk,
    scope: work.scope,
    changes: definition.changes,
    lower: at,
    end: batch.upper_key,
    batchSize: operation.carve_size ?? operation.batch_size,
    subBatchSize: operation.tuned_size ?? operation.sub_batch_size,
  })
}
