import type { Work } from '../targets/work.ts'
import { BatchPosition } from './batch-position.ts'
import type { BatchRun, Begun } from './batch-run.ts'
import { BatchSizes } from './batch-sizes.ts'
import { giveBack } from './batch-end.ts'
import { isOpenFor } from './off-peak.ts'
import { recoverBeginning } from './recover.ts'
import { Failures } from './verdict.ts'

/** Prepares a batch, again where the error may pass; undefined: it is settled, or somebody else's. */
export async function begin(run: BatchRun): Promise<Begun | undefined> {
  const failures = new Failures()
  for (;;) {
    try {
      const begun = await prepare(run, failures)
      failures.forget()
      return begun
    } catch (error) {
      const next = await recoverBeginning(run, failures, error)
      if (next === 'give back') await giveBack(run)
      if (next !== 'on') return undefined
    }
  }
}

/** Stored args meet today's code here: what does not fit any more fails the operation before it touches a row. */
async function prepare(run: BatchRun, failures: Failures): Promise<Begun> {
  const { held, leaseMs, operation, batch, definition } = run
  const bound = await definition.bind(operation.args)
  const startedAt = operation.created_text
  const window = { lower: batch.checkpoint, upper: batch.upper_key }
  const { walk: kind, lanes } = operation
  const { changes, reads } = definition
  const same = { operationId: operation.id, pass: batch.pass, walk: run.walk, bound, startedAt }
  const strode = run.sizes.strides(operation.id)
  const facts = { ...same, window, crashes: batch.crashes, changes, kind, lanes, reads, strode }
  const { quarantined, mayBeOne, ...found } = await run.target.enter(facts)
  if (found.strides.of > 1) run.sizes.strode(operation.id)
  const keeps = found.mayKeepRows
  // Also for what is retried after the second pass: its batch belongs to the first one.
  const verifies = operation.pass > 1
  const work: Work = {
    ...same,
    ...found,
    claim: held,
    isOpen: (hours, now) => isOpenFor(definition, hours, now),
    leaseMs,
    signal: AbortSignal.any([held.signal, run.ending]),
    // A second pass has few rows to change and looks far beyond them.
    inOne: mayBeOne && !verifies && operation.run_window === null,
    leavesNone: verifies || (keeps && bound.change !== undefined),
  }
  const resting = AbortSignal.any([run.stopping, held.signal])
  return { work, position: new BatchPosition(window, quarantined), sizes: sizesOf(run), failures, resting }
}

function sizesOf({ operation, batch, sizes, cuts }: BatchRun): BatchSizes {
  const given = Math.min(batch.sub_batch_size, operation.sub_batch_size)
  return new BatchSizes({
    given,
    most: operation.sub_batch_size,
    found: operation.tuned_size === null ? undefined : sizes.rows(operation.id, given),
    crashes: batch.crashes,
    lastLook: sizes.lastLook(operation.id),
    verifies: batch.pass > 1,
    isEmpty: cuts.farEnds.rowsOf(operation, { lower: batch.checkpoint, upper: batch.upper_key }) !== undefined,
  })
}
