import type { StoreConnection } from '../store/connection.ts'
import { shareTransactions } from '../store/governing.ts'

/** Between two words with the others; a worker that begins or ends is taken for one of the application for so long. */
const everyMs = 5_000

/** Other processes that work on operations: each says how many transactions it has, so that none makes room for them. */
export class Peers {
  #last: { atMs: number; transactions: number } | undefined
  #perSecond = 0

  /** Transactions of them in a second. */
  get perSecond(): number {
    return this.#perSecond
  }

  /** Tells the others what there was here since the last time, and hears from them. */
  async hear(
    connection: StoreConnection,
    own: { workerId: string; transactions: number; nowMs: number },
  ): Promise<void> {
    const { workerId, transactions, nowMs } = own
    const last = this.#last
    if (last !== undefined && nowMs - last.atMs < everyMs) return
    this.#last = { atMs: nowMs, transactions }
    const perSecond = last === undefined ? 0 : ((transactions - last.transactions) * 1_000) / (nowMs - last.atMs)
    const [heard] = await shareTransactions(connection, { workerId, perSecond })
    this.#perSecond = heard?.peers ?? 0
  }
}
