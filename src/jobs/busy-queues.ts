import type { StoreConnection } from '../store/connection.ts'
import { busyQueues, type QueueState } from '../store/jobs/claim.ts'

/** How many queues one claim reads. The claims of all other workers wait while it does. */
const fewQueues = 50
/** How many queues with jobs one look finds at most. */
const perLook = 2_000
const lookEveryMs = 1_000
/** A look without a hint costs a twentieth of the time at most, and one after a hint a fifth. */
const lookShare = 20
const hintedShare = 5

/**
 * Where there are many queues, for example one for each tenant, most of them are empty at any moment. Those that are
 * not are found along the indexes before a claim, so that the claim looks into a few queues, however many there are.
 */
export class BusyQueues {
  #busy = new Set<number>()
  #after = 0
  #lookedAt = -Infinity
  #tookMs = 0

  /** Those of the queues that a claim should look into now; all of them, where they are few. */
  async among<Queue extends QueueState>(
    queues: readonly Queue[],
    { control, hinted }: { control: StoreConnection; hinted: boolean },
  ): Promise<readonly Queue[]> {
    if (queues.length <= fewQueues) return queues
    const began = performance.now()
    const everyMs = hinted ? hintedShare * this.#tookMs : Math.max(lookEveryMs, lookShare * this.#tookMs)
    if (began - this.#lookedAt >= everyMs) {
      const [found] = await busyQueues(control, { after: this.#after, most: perLook })
      this.#busy = new Set(found?.ids)
      this.#after = found?.next_after ?? 0
      this.#lookedAt = performance.now()
      this.#tookMs = this.#lookedAt - began
    }
    return queues.filter(({ id }) => this.#busy.has(id)).slice(0, fewQueues)
  }
}
