import type { Key } from '../store/operations.ts'
import type { BatchRun } from './batch-run.ts'
import { careAfterCrash } from './isolate.ts'
import { carveRows, nextBatch } from './size.ts'
import type { Units } from './stride.ts'
import type { NextWindow } from './sub-batch.ts'

/** Where a batch is, and how it takes its next step. */
export interface Progress {
  at: Key | null
  subBatchSize: number
  /** The size to come back to after errors made it smaller. */
  wantedSize: number
  /** The size that crashes divide: the same for whoever takes the batch over. */
  baseSize: number
  /** The next window, if it is known already. */
  ahead: NextWindow | undefined
  /** What this process has done of the batch. */
  done: { rows: number; ms: number }
  /** The transactions of the window that is on its way. */
  unit: Units | undefined
  /** Rows that are done without strides, because the last try with them came to no end. */
  plainRows: number
  /** Rows that are looked at in one go, as long as none of them is in scope. */
  lookSize: number
  /** The last sub-batch met no row in scope: it pays to look before the next one. */
  empty: boolean
  /** Errors since the last sub-batch that committed, and those of them on a single row. */
  inARow: number
  onOneRow: number
}

/** So many times the sub-batch can be looked at when nothing needs to be changed, up to so many rows. */
const lookFactor = 64
const mostLooked = 2_000_000
/** How long a look is to take. */
const lookMs = 1_000
/** How many times as far the next one may reach. */
export const lookGrowth = 4

/** Where a batch begins that was just taken. */
export function beginning({ batch, operation, sizes, cuts }: BatchRun): Progress {
  const most = operation.sub_batch_size
  const baseSize = Math.min(batch.sub_batch_size, most)
  const wantedSize = operation.tuned_size === null ? baseSize : Math.min(most, sizes.rows(operation.id, baseSize))
  const size = batch.crashes > 0 ? baseSize / careAfterCrash ** Math.min(batch.crashes, 6) : wantedSize
  const subBatchSize = Math.max(1, Math.floor(size))
  const second = batch.pass > 1
  // Where the last batch found nothing to do at its end, this one most likely finds nothing at its beginning.
  const looked = sizes.lastLook(operation.id)
  const known = cuts.farEnds.rowsOf(operation, { lower: batch.checkpoint, upper: batch.upper_key }) !== undefined
  const lookSize = second ? lookLimit(wantedSize) : (looked ?? wantedSize * 2)
  const at = batch.checkpoint
  const found = { ahead: undefined, done: { rows: 0, ms: 0 }, unit: undefined, plainRows: 0, inARow: 0, onOneRow: 0 }
  return { at, subBatchSize, wantedSize, baseSize, lookSize, empty: second || known || looked !== undefined, ...found }
}

/** Rows that may be looked at in one go. */
export function lookLimit(wantedSize: number): number {
  return Math.max(wantedSize, Math.min(wantedSize * lookFactor, mostLooked))
}

/** Rows of the next look, after one of so many rows that took so long. */
export function nextLook(
  { lookSize, wantedSize }: Pick<Progress, 'lookSize' | 'wantedSize'>,
  { rows, ms }: { rows: number; ms: number },
): number {
  const wanted = (Math.max(rows, 1) / Math.max(ms, 1)) * lookMs
  const next = Math.min(Math.max(wanted, lookSize / lookGrowth), lookSize * lookGrowth)
  return Math.floor(Math.min(Math.max(next, wantedSize), lookLimit(wantedSize)))
}

/** How long a look beside a sub-batch is to take: about as long as one of an idle server. */
const besideMs = 100

/** How far the next look beside a sub-batch reaches, after one that took so long. */
export function nextBeside(reach: number, ms: number): number {
  return Math.ceil(Math.min((reach / Math.max(ms, 1)) * besideMs, reach * lookGrowth))
}

/** Rows that the batches of an operation have at the moment. */
export function carveSize({ operation }: Pick<BatchRun, 'operation'>): number {
  return carveRows(operation)
}

/** Rows of the next batch, by what is done of this one. */
export function sizeAfter(run: Pick<BatchRun, 'operation'>, { done }: Pick<Progress, 'done'>): number {
  const { carve_size: size, batch_size: most } = run.operation
  return nextBatch(size ?? most, done, most)
}
