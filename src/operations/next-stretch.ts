/**
 * What comes next in a batch: a stretch to work on, or one to pass over.
 *
 * Looks are how a batch skips rows that are not in scope. They are counted in wide windows, outside any transaction. A
 * window without a row in scope is skipped; a window with some is narrowed until it is no wider than a sub-batch.
 *
 * Decision: after a sub-batch without a row in scope, count the next window before working on it. Each look may reach
 * four times as far as the one before, up to 64 sub-batches. So a sparse scope costs reads only, and a transaction
 * never changes more rows than a sub-batch may have.
 */
import type { Looked } from '../targets/target.ts'
import type { Stretch } from '../targets/work.ts'
import type { BatchRun, Begun } from './batch-run.ts'
import { watchPlan } from './preflight/drift.ts'
import { carveRows } from './size.ts'

/** A stretch in which there is nothing to do. */
export interface Passed {
  kind: 'pass over'
  next: Stretch
  /** The stretch after it, if that is known already. */
  ahead?: Stretch | undefined
  began: number
  /** It was looked at; false: it is in quarantine, and was counted when it was isolated. */
  counts: boolean
}

export type NextStretch = { kind: 'change'; next: Stretch } | Passed | { kind: 'look again' }

export async function nextStretch(run: BatchRun, begun: Begun): Promise<NextStretch> {
  const { work, position, sizes } = begun
  const { quarantined } = position
  if (quarantined !== undefined) return over({ window: quarantined, rows: 0 })
  await watchPlan(run, work, position.at)
  if (sizes.looksFirst) return look(run, begun)
  const ahead = position.takeAhead()
  if (ahead?.stride !== undefined) return { kind: 'change', next: ahead }
  const { at: lower, end: upper, isPlain: plain } = position
  const size = sizes.subBatch * (plain ? 1 : work.strides.of)
  // Found by the sub-batch before, for the size that it had: good unless another is wanted by far.
  const known = ahead !== undefined && !isFar(size, ahead.rows) && !isFar(ahead.rows, size) ? ahead : undefined
  return { kind: 'change', next: await run.target.windows.next(work, { lower, upper, size, plain, known }) }
}

const over = (next: Stretch): Passed => ({ kind: 'pass over', next, began: performance.now(), counts: false })

/** Whether a size is so far from another that it pays to look again. */
function isFar(rows: number, wanted: number): boolean {
  return wanted > rows * 1.5
}

/** Looks at the next window. */
async function look(run: BatchRun, { work, position, sizes }: Begun): Promise<NextStretch> {
  const began = performance.now()
  const looked = await lookAhead(run, { work, position, sizes }).catch((error: unknown) => {
    // A scope that fails on one row fails on every window that has it. Windows become narrower; from the size of a
    // sub-batch on there are sub-batches instead of looks, which find the row that is at fault.
    if (run.target.classify(error) !== 'rows') throw error
    sizes.narrowFailed()
  })
  if (looked === undefined) return { kind: 'look again' }
  const { next, found, ahead } = looked
  if (found > 0 && next.rows > sizes.subBatch) {
    sizes.narrow(next.rows)
    return { kind: 'look again' }
  }
  sizes.looked({ rows: next.rows, ms: performance.now() - began })
  // The first pass has counted all rows; the second adds those that it finds.
  const rows = work.pass > 1 ? found : next.rows
  if (found > 0) return { kind: 'change', next: { ...next, rows } }
  return { kind: 'pass over', next: { window: next.window, rows }, ahead, began, counts: true }
}

async function lookAhead(
  { target, operation, cuts }: BatchRun,
  { work, position, sizes }: Pick<Begun, 'work' | 'position' | 'sizes'>,
): Promise<Looked> {
  const rest = { lower: position.at, upper: position.end }
  const known = position.takeAhead()
  const far = cuts.farEnds.rowsOf(operation, rest)
  if (far !== undefined) return { next: { window: rest, rows: far }, found: 0 }
  const inBatch = carveRows(operation)
  const size = known === undefined && sizes.look >= inBatch ? 'all' : sizes.look
  const further = sizes.further < inBatch ? sizes.further : undefined
  return target.windows.look(work, { rest, known, size, further })
}
