/**
 * Where a batch is: its checkpoint as far as this process knows it, what is known of the keys after it, and what was
 * done so far.
 *
 * Rows in quarantine, as a second pass meets them: they were tried and counted when they were isolated, and a person
 * takes them up again. The pass goes from one stretch of other rows to the next and steps over them in between, so
 * neither the change nor the scope, which may be what fails, ever sees them.
 */
import type { Key } from '../store/operations.ts'
import type { Changed } from '../targets/outcome.ts'
import { sameKey, type KeyWindow } from '../targets/walk.ts'
import type { Stretch } from '../targets/work.ts'

/** What this process has done of the batch. */
export interface Done {
  rows: number
  ms: number
}

export class BatchPosition {
  readonly #upper: Key
  #at: Key | null
  #quarantined: readonly KeyWindow[]
  #ahead: Stretch | undefined
  #plainRows = 0
  #done: Done = { rows: 0, ms: 0 }

  constructor({ lower, upper }: KeyWindow, quarantined: readonly KeyWindow[]) {
    this.#at = lower
    this.#upper = upper
    this.#quarantined = quarantined
  }

  get at(): Key | null {
    return this.#at
  }

  /** The last key of the batch, or of its rows before the next ones in quarantine. */
  get end(): Key {
    return this.#quarantined[0]?.lower ?? this.#upper
  }

  get isAtEnd(): boolean {
    return sameKey(this.#at, this.#upper)
  }

  get done(): Done {
    return this.#done
  }

  /** The rows to do without strides, because the last try with them came to no end, are not done yet. */
  get isPlain(): boolean {
    return this.#plainRows > 0
  }

  /** The rows in quarantine that come next, if the walk has come to some. */
  get quarantined(): KeyWindow | undefined {
    const [next] = this.#quarantined
    return next !== undefined && sameKey(this.#at, next.lower) ? next : undefined
  }

  /** The next stretch, if it is known already; it is known once. */
  takeAhead(): Stretch | undefined {
    const ahead = this.#ahead
    this.#ahead = undefined
    return ahead
  }

  /** A stretch is about to be worked on. */
  begin({ rows, stride }: Stretch): void {
    if (stride !== undefined) this.#plainRows = rows
  }

  /** A sub-batch has committed. */
  advance({ at, rowsSeen, elapsedMs, next }: Changed): void {
    this.#at = at
    this.#ahead = next
    this.#plainRows = Math.max(0, this.#plainRows - rowsSeen)
    this.#done = { rows: this.#done.rows + rowsSeen, ms: this.#done.ms + elapsedMs }
  }

  /** The checkpoint was moved without changing rows. */
  pass(at: Key, ahead?: Stretch): void {
    this.#ahead = ahead
    this.resume(at)
  }

  /** The claim row says where to go on. */
  resume(checkpoint: Key | null): void {
    this.#at = checkpoint
    const [next, ...others] = this.#quarantined
    // The answer to the step over them may have been lost.
    if (next === undefined || !sameKey(checkpoint, next.upper)) return
    this.#quarantined = others
    this.#ahead = undefined
  }
}
