/**
 * Looks: how a batch skips rows that are not in scope. They are counted in wide windows, outside any transaction. A
 * window without a row in scope is skipped; a window with some is narrowed until it is no wider than a sub-batch.
 *
 * Decision: after a sub-batch without a row in scope, count the next window before working on it. Each look may reach
 * four times as far as the one before, up to 64 sub-batches. So a sparse scope costs reads only, and a transaction
 * never changes more rows than a sub-batch may have.
 */
import type { Connection } from '../store/connection.ts'
import { classify } from '../store/sqlstate.ts'
import { countInScope, countRows } from '../targets/window.ts'
import { carveSize, lookGrowth, lookLimit, nextLook, sizeAfter, type Progress } from './batch-progress.ts'
import { about, type BatchRun } from './batch-run.ts'
import { readFar } from './far-reads.ts'
import { nextWindow, passOver, windowBeyond, type NextWindow, type SubBatchWork } from './sub-batch.ts'

/** A window that was looked at. */
interface Looked {
  next: NextWindow
  /** Its rows in scope. */
  found: number
  ahead?: NextWindow | undefined
}

/** Looks at the next window. Gives one that has to be worked on; undefined: go on from where the progress is now. */
export async function look(run: BatchRun, work: SubBatchWork, progress: Progress): Promise<NextWindow | undefined> {
  const began = performance.now()
  const size = Math.max(progress.lookSize, progress.subBatchSize)
  const looked = await readFar(work, (by) => lookAhead(run, work, { progress, size, by })).catch((error: unknown) =>
    narrow(progress, size, error),
  )
  if (looked === undefined) return undefined
  const { next, found, ahead } = looked
  if (found > 0 && next.rows > progress.subBatchSize) {
    progress.lookSize = Math.max(progress.subBatchSize, Math.floor(next.rows / 4))
    return undefined
  }
  progress.lookSize = nextLook(progress, { rows: next.rows, ms: performance.now() - began })
  // The first pass has counted all rows; the second adds those that it finds.
  const rows = work.pass > 1 ? found : next.rows
  if (found > 0) return { ...next, rows }
  const elapsedMs = await passOver(work, { window: next.window, rows }, began)
  progress.at = next.window.upper
  progress.ahead = ahead
  run.sizes.looked(run.operation.id, progress.lookSize)
  run.cuts.prepare(run.operation, sizeAfter(run, progress))
  run.held.progress()
  const counts = { rowsSeen: rows, rowsMatched: 0, rowsChanged: 0, elapsedMs, walBytes: 0, targetMs: null }
  run.telemetry.emit('sub-batch.committed', { ...about(run), ...counts })
  return undefined
}

/**
 * A scope that fails on one row fails on every window that has it. Windows become narrower; from the size of a sub-batch
 * on there are sub-batches instead of looks, which find the row that is at fault.
 */
function narrow(progress: Progress, size: number, error: unknown): undefined {
  if (classify(error) !== 'rows') throw error
  progress.ahead = undefined
  if (size > progress.subBatchSize) progress.lookSize = Math.max(progress.subBatchSize, Math.floor(size / lookGrowth))
  else progress.empty = false
}

async function lookAhead(
  run: BatchRun,
  work: SubBatchWork,
  { progress, size, by }: { progress: Progress; size: number; by: Connection },
): Promise<Looked> {
  const { walk, scope } = work
  const rest = { lower: progress.at, upper: work.end }
  const known = progress.ahead
  progress.ahead = undefined
  const far = run.cuts.farEnds.rowsOf(run.operation, rest)
  if (far !== undefined) return { next: { window: rest, rows: far }, found: 0 }
  // Where the batch has no more rows than that, nobody has to look for the end of the window.
  if (known === undefined && size >= carveSize(run)) {
    const { rows, found } = await countInScope(by, walk, rest, scope)
    return { next: { window: rest, rows }, found }
  }
  const next = known ?? (await nextWindow(work, { ...rest, size }, by))
  const further = Math.min(lookLimit(progress.wantedSize), size * lookGrowth)
  const beyond = further < carveSize(run) ? windowBeyond(work, next, further) : undefined
  const found = await countRows(by, walk, next.window, scope)
  return { next, found, ahead: await beyond }
}
