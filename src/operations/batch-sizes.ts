/** The sizes of one batch: of its next sub-batch, and of its next look. */
import type { Changed } from '../targets/outcome.ts'
import { addUnit, meanOf, type Unit, type Units } from './size.ts'

/** What a batch begins with. */
export interface FirstSizes {
  /** The size that the batch was carved with, and the largest that is wanted. */
  given: number
  most: number
  /** The size that this process has found; undefined: sizes are set by the definition. */
  found: number | undefined
  crashes: number
  /** Rows of the next look, where the last stretch before had no row in scope. */
  lastLook: number | undefined
  /** It is the second pass, which finds little. */
  verifies: boolean
  /** There is nothing in scope up to the end of the batch, as far as is known. */
  isEmpty: boolean
}

/** Each death of a worker on the same rows makes the next sub-batch there this many times smaller. */
const careAfterCrash = 10

/** A look may be this many times as large as a sub-batch, up to this many rows. */
const lookFactor = 64
const mostLooked = 2_000_000
/** How long a look is to take. */
const lookMs = 1_000
/** How many times as far the next one may reach. */
export const lookGrowth = 4

export class BatchSizes {
  /** The size that crashes divide: the same for whoever takes the batch over. */
  readonly #base: number
  readonly #verifies: boolean
  #subBatch: number
  /** The size to come back to after errors made it smaller. */
  #wanted: number
  #look: number
  #looksFirst: boolean
  /** The transactions of the window that is on its way. */
  #unit: Units | undefined

  constructor({ given, most, found, crashes, lastLook, verifies, isEmpty }: FirstSizes) {
    this.#base = Math.min(given, most)
    this.#wanted = found === undefined ? this.#base : Math.min(most, found)
    this.#verifies = verifies
    const size = crashes > 0 ? this.#base / careAfterCrash ** Math.min(crashes, 6) : this.#wanted
    this.#subBatch = Math.max(1, Math.floor(size))
    this.#look = verifies ? lookLimit(this.#wanted) : (lastLook ?? this.#wanted * 2)
    // Where the last batch found nothing to do at its end, this one most likely finds nothing at its beginning.
    this.#looksFirst = verifies || isEmpty || lastLook !== undefined
  }

  get subBatch(): number {
    return this.#subBatch
  }

  /** Rows that are looked at in one go, as long as none of them is in scope. */
  get look(): number {
    return Math.max(this.#look, this.#subBatch)
  }

  /** Rows that the look after the next one may reach. */
  get further(): number {
    return Math.min(lookLimit(this.#wanted), this.look * lookGrowth)
  }

  /** The last sub-batch met no row in scope: it pays to look before the next one. */
  get looksFirst(): boolean {
    return this.#looksFirst
  }

  /** As many rows as the sub-batch had on which the last worker died. */
  ofCrash(crashes: number): number {
    return Math.max(1, Math.floor(this.#base / careAfterCrash ** (crashes - 1)))
  }

  /** Learns from a sub-batch; `wanted` finds the size to aim at, once a window is done. */
  learn(
    { rowsAtOnce: rows, rowsMatched, elapsedMs: ms, walBytes, rest }: Changed,
    { scoped, wanted }: { scoped: boolean; wanted: (mean: Unit) => number },
  ): void {
    this.#unit = addUnit(this.#unit, { rows, ms, walBytes })
    const isRecovering = this.#subBatch < this.#wanted
    // The strides of a window differ: the first finds full pages, the others the room that it left. Their mean counts.
    if (!rest) {
      const unit = meanOf(this.#unit)
      // One that was empty says nothing about rows.
      if (unit.rows >= 1) this.#wanted = wanted(unit)
      this.#unit = undefined
    }
    this.#looksFirst = this.#verifies || (scoped && !rest && rowsMatched === 0)
    this.#subBatch = isRecovering ? Math.min(this.#wanted, this.#subBatch * 2) : this.#wanted
  }

  /** Makes the next sub-batch this small, after an error. */
  shrinkTo(rows: number): void {
    this.#subBatch = rows
    this.#look = rows
  }

  /** What was done of a window begins anew. */
  begin(): void {
    this.#unit = undefined
  }

  /** A look found rows in scope, but the window is too wide to be worked on in one go. */
  narrow(rows: number): void {
    this.#look = Math.max(this.#subBatch, Math.floor(rows / 4))
  }

  /** A look has failed on a row: a narrower one, and no look where it is as narrow as a sub-batch. */
  narrowFailed(): void {
    if (this.look > this.#subBatch) this.#look = Math.max(this.#subBatch, Math.floor(this.look / lookGrowth))
    else this.#looksFirst = false
  }

  /** A look is over. */
  looked(done: { rows: number; ms: number }): void {
    this.#look = nextLook({ lookSize: this.#look, wantedSize: this.#wanted }, done)
  }
}

/** Rows that may be looked at in one go. */
function lookLimit(wantedSize: number): number {
  return Math.max(wantedSize, Math.min(wantedSize * lookFactor, mostLooked))
}

/** Rows of the next look, after one of this many rows that took this long. */
export function nextLook(
  { lookSize, wantedSize }: { lookSize: number; wantedSize: number },
  { rows, ms }: { rows: number; ms: number },
): number {
  const wanted = (Math.max(rows, 1) / Math.max(ms, 1)) * lookMs
  const next = Math.min(Math.max(wanted, lookSize / lookGrowth), lookSize * lookGrowth)
  return Math.floor(Math.min(Math.max(next, wantedSize), lookLimit(wantedSize)))
}
