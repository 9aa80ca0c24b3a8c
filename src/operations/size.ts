/**
 * How many rows a sub-batch has: as many as fit a target time, found while the operation runs.
 *
 * The time of a unit is a fixed part (round trips, the wait for the disk, what the handler does once) and one that
 * grows with its rows. The controller tells the two apart by units of different sizes and aims the second at the
 * target: making a unit smaller does not help against the first. So rows take at least as long as the fixed part, and
 * where units of one size have long taken more than their target, a larger one finds out what part is fixed. Throughput
 * is remembered by its logarithm, quick to fall and slow to rise, so that one odd unit does little and a database that
 * has become slow is believed at once.
 *
 * The target follows the load of the server (see `governor/load.ts`). A size that the definition sets is never changed.
 */

/** What is known of the units of one operation. */
export interface Sizing {
  /** Rows of the next unit. */
  readonly rows: number
  /** The part of a unit's time that does not depend on its rows. */
  readonly fixedMs: number
  /** Logarithm of rows per millisecond beside the fixed part. */
  readonly rate: number
  readonly units: number
  /** Units for which it may not grow, after one that was too large. */
  readonly frozen: number
  readonly walPerRow: number
  /** Of the last units, the newest counting most. */
  readonly means: { readonly rows: number; readonly ms: number; readonly variance: number; readonly covariance: number }
}

/** A unit that is done. */
export interface Unit {
  rows: number
  ms: number
  /** Bytes of WAL that were written meanwhile, by whomever. */
  walBytes?: number
}

export interface Aim {
  /** How long the rows of a unit are to take, beside the fixed part. */
  targetMs: number
  /** How long a unit may take in all. */
  limitMs: number
  most: number
  /** Bytes of WAL that a unit may write. */
  walBytes?: number
}

/** Rows to begin with, and at most, where the definition leaves them to the worker. */
export const batchRows = { first: 50_000, most: 2_000_000 }
export const subBatchRows = { first: 500, most: 100_000 }

/** The sizes that a run begins with: those of its definition, or ours. */
export function firstSizes({ batchSize, subBatchSize }: FoundByDefault): Record<keyof FoundByDefault, number> {
  return { batchSize: batchSize ?? batchRows.first, subBatchSize: subBatchSize ?? subBatchRows.first }
}

/** Undefined: found by the worker. */
interface FoundByDefault {
  batchSize: number | undefined
  subBatchSize: number | undefined
}

/** How long a batch is to take: long enough that leasing costs nothing beside it, short enough to take turns. */
const batchMs = 5_000

/** How long the rows of a sub-batch may take: while nobody else needs the database, and while others do. */
const [idleMs, busyMs] = [100, 5]

/** The target at a load from 0 to 1. Times are compared by their ratio, so it falls evenly by ratio. */
export function targetMs(load: number): number {
  return idleMs * (busyMs / idleMs) ** load
}

/** Units that are believed as they are, before they are smoothed. */
const firstUnits = 6
const [quick, slow] = [0.6, 0.3]
const deadBand = 0.08
const [growth, shrinkage] = [2, 0.35]
/** As long as little is known, sizes are far from what they will be. */
const firstGrowth = 4
const memory = 0.2
const frozenUnits = 5
const flat = { variance: 0, covariance: 0 }

/** Begins with a size that is safe anywhere. */
export function sizing(rows: number): Sizing {
  const means = { rows, ms: 0, ...flat }
  return { rows, fixedMs: 0, rate: 0, units: 0, frozen: 0, walPerRow: 0, means }
}

/** Learns from a unit, and says how large the next one is. */
export function learn(sized: Sizing, unit: Unit, aim: Aim): Sizing {
  if (unit.rows < 1) return sized
  const means = isAnother(sized, unit) ? { rows: unit.rows, ms: unit.ms, ...flat } : remember(sized, unit)
  const fixedMs = fixedPart(sized, means)
  const varyingMs = Math.max(unit.ms - fixedMs, unit.ms * 0.1, 0.01)
  const seen = Math.log(unit.rows / varyingMs)
  const weight = sized.units < firstUnits ? 1 : seen < sized.rate ? quick : slow
  const rate = sized.rate + weight * (seen - sized.rate)
  const units = sized.units + 1
  const frozen = Math.max(0, sized.frozen - 1)
  const walPerRow = ease(sized.walPerRow, (unit.walBytes ?? 0) / unit.rows, sized.units)
  const known = { ...sized, fixedMs, rate, units, frozen, walPerRow, means }
  return { ...known, rows: nextRows(known, unit, aim) }
}

/** Answers a unit that ran into a limit, such as a lock that somebody else holds. */
export function shrink(sized: Sizing): Sizing {
  const rows = Math.max(1, Math.floor(sized.rows / 2))
  return { ...sized, rows, rate: sized.rate - Math.LN2, frozen: frozenUnits }
}

function nextRows(sized: Sizing, unit: Unit, aim: Aim): number {
  const { rows, fixedMs, rate, frozen, walPerRow, units } = sized
  const rowsMs = Math.min(Math.max(aim.targetMs, fixedMs), Math.max(aim.limitMs - fixedMs, aim.limitMs / 4))
  const wanted = Math.exp(rate) * rowsMs
  const ceiling =
    aim.walBytes === undefined || walPerRow === 0 ? aim.most : Math.min(aim.most, aim.walBytes / walPerRow)
  const clamp = (value: number): number => Math.max(1, Math.floor(Math.min(value, ceiling)))
  if (frozen === 0 && isPuzzling(sized, unit, aim)) return clamp(rows * growth)
  if (Math.abs(wanted / rows - 1) < deadBand) return clamp(rows)
  // What was smaller than it should have been, the last of a batch, says nothing about more rows than were wanted.
  const grown = unit.rows * growth < rows ? rows : rows * (units <= firstUnits ? firstGrowth : growth)
  const next = Math.min(Math.max(wanted, rows * shrinkage), grown)
  return clamp(frozen > 0 ? Math.min(next, rows) : next)
}

/** Units of one size have long taken more than their target: either a part is fixed, or rows are slow. */
function isPuzzling({ units, means }: Sizing, { ms }: Unit, { targetMs: target, limitMs }: Aim): boolean {
  return units >= firstUnits && !isTelling(means) && ms > 1.25 * target && ms * growth <= limitMs
}

/** Whether the database has become another one: what was learned about the parts of a unit's time mixes both. */
function isAnother({ units, rate, fixedMs }: Sizing, { rows, ms }: Unit): boolean {
  return units > 0 && ms > 3 * (fixedMs + rows / Math.exp(rate))
}

function remember({ means, units }: Sizing, { rows, ms }: Unit): Sizing['means'] {
  if (units === 0) return { rows, ms, ...flat }
  const [byRows, byMs] = [rows - means.rows, ms - means.ms]
  return {
    rows: means.rows + memory * byRows,
    ms: means.ms + memory * byMs,
    variance: (1 - memory) * (means.variance + memory * byRows ** 2),
    covariance: (1 - memory) * (means.covariance + memory * byRows * byMs),
  }
}

/** Where the line through the last units meets zero rows; units of one size say nothing of it. */
function fixedPart({ fixedMs }: Sizing, means: Sizing['means']): number {
  const found = isTelling(means) ? means.ms - (means.covariance / means.variance) * means.rows : fixedMs
  return Math.min(Math.max(found, 0), means.ms * 0.9)
}

const isTelling = ({ rows, variance }: Sizing['means']): boolean => variance > (rows * 0.1) ** 2

function ease(before: number, value: number, units: number): number {
  return units === 0 ? value : before + slow * (value - before)
}

/** Rows of the next batch, after one of this size: as many as fit its time. */
function nextBatch(size: number, { rows, ms }: Unit, most: number): number {
  if (rows < 1) return size
  const wanted = (rows / Math.max(ms, 1)) * batchMs
  const next = Math.min(Math.max(wanted, size * shrinkage), size * firstGrowth)
  return Math.max(1, Math.floor(Math.min(next, most)))
}

/** What an operation says of its batches. */
interface Batched {
  batch_size: number
  carve_size: number | null
  tunes_batches: boolean
  lanes: number
  rows_estimate: number
  rows_seen: number
}

/**
 * Rows of the batch that is carved now. Several lanes should come to their end at the same time, so that none takes more
 * than half of its share of what is left, as far as that is known.
 */
export function carveRows({ batch_size, carve_size, tunes_batches, ...operation }: Batched): number {
  const size = carve_size ?? batch_size
  const { lanes, rows_estimate: all, rows_seen: seen } = operation
  if (!tunes_batches || lanes === 1 || seen >= all) return size
  return Math.min(size, Math.max(batchRows.first, Math.ceil((all - seen) / (2 * lanes))))
}

/** Transactions of one window, added up. */
export type Units = Required<Unit> & { count: number }

export function addUnit(sum: Units | undefined, { rows, ms, walBytes = 0 }: Unit): Units {
  if (sum === undefined) return { rows, ms, walBytes, count: 1 }
  return { rows: sum.rows + rows, ms: sum.ms + ms, walBytes: sum.walBytes + walBytes, count: sum.count + 1 }
}

/** What one of them was like. */
export function meanOf({ rows, ms, walBytes, count }: Units): Unit {
  return { rows: rows / count, ms: ms / count, walBytes: walBytes / count }
}

/** Rows of the next batch of an operation, by what is done of one. */
export function sizeAfter(
  { carve_size: size, batch_size: most }: Pick<Batched, 'carve_size' | 'batch_size'>,
  done: Unit,
): number {
  return nextBatch(size ?? most, done, most)
}
