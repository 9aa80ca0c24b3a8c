import { sleep } from '../std/sleep.ts'
import type { StoreConnection } from '../store/connection.ts'
import { spend } from '../store/governing.ts'

/** What all processes together may use of a database in a second. */
export interface BudgetOptions {
  rowsPerSecond: number | undefined
  walBytesPerSecond: number | undefined
}

/** What a sub-batch has used. */
export interface Use {
  rows: number
  walBytes: number
}

/** A process settles its account as soon as it has used what all may use in that time. */
const sliceMs = 250

/**
 * One budget for all operations and processes, in one row of the database. What a sub-batch will use is known only
 * afterwards, so it is paid for afterwards: what was used is taken off the bucket, also below zero, and the process
 * waits until it is paid for before it goes on. Over any time, all together exceed the budget by no more than one
 * slice each and the sub-batch that was on its way.
 *
 * Nothing is reserved in advance, so a process that dies leaves no reservation behind. One that gets no answer pays
 * again.
 */
export class Budget {
  readonly #options: BudgetOptions
  readonly #connection: StoreConnection
  readonly #used = { rows: 0, wal: 0 }
  #walPerRow: number | undefined

  constructor(options: BudgetOptions, connection: StoreConnection) {
    this.#options = options
    this.#connection = connection
  }

  /** Counts what was used and waits until it is paid for. Between transactions only. */
  async pay({ rows, walBytes }: Use, { signal, alive }: { signal: AbortSignal; alive: () => void }): Promise<void> {
    this.#used.rows += rows
    this.#used.wal += this.#ownWal(rows, walBytes)
    const waits = await Promise.all([
      this.#settle('rows', this.#options.rowsPerSecond),
      this.#settle('wal', this.#options.walBytesPerSecond),
    ])
    const until = performance.now() + Math.max(...waits)
    for (let leftMs = until - performance.now(); leftMs > 0 && !signal.aborted; leftMs = until - performance.now()) {
      await sleep(Math.min(leftMs, 500), signal)
      alive()
    }
  }

  /** What was logged meanwhile is partly the work of others: no row of ours costs much more than the cheap ones. */
  #ownWal(rows: number, walBytes: number): number {
    if (rows === 0) return 0
    const each = walBytes / rows
    const last = this.#walPerRow ?? each
    this.#walPerRow = last + (each < last ? 0.5 : 0.05) * (each - last)
    return Math.min(walBytes, 3 * this.#walPerRow * rows)
  }

  async #settle(kind: 'rows' | 'wal', perSecond: number | undefined): Promise<number> {
    const slice = ((perSecond ?? 0) * sliceMs) / 1_000
    const used = this.#used[kind]
    if (perSecond === undefined || used < slice) return 0
    this.#used[kind] = 0
    try {
      const [paid] = await spend(this.#connection, { kind, used, perSecond, burst: slice })
      return paid?.wait_ms ?? 0
    } catch (error) {
      // Whether it was taken is not known; to pay twice keeps the budget, and not to pay does not.
      this.#used[kind] += used
      throw error
    }
  }
}
