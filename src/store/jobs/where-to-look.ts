import type { StoreConnection } from '../connection.ts'
import { busyQueues, type ClaimedRow, type Lane, type QueueState } from './claim.ts'

const priorities = [0, 1, 2] as const
const ready = 0

/**
 * Ready jobs are looked for from the very first one so often: those that were committed late are behind the floor.
 * When that takes long, because of dead entries, it is done less often, and costs a twentieth of the time at most.
 */
const sweepEveryMs = 1_000
const sweepShare = 20
/** After a hint without a find it may be done earlier. */
const hintedEveryMs = 100
const hintedShare = 5

/** How many queues one claim reads. The claims of all other workers wait while it does. */
const fewQueues = 50
/** How many queues with jobs one look finds at most. */
const perLook = 2_000
const lookEveryMs = 1_000

/**
 * Remembers up to where ready jobs were seen, for each queue and priority. The next look begins there instead of at
 * the head of the index, which may be full of dead entries as long as an old snapshot is open somewhere.
 */
export class Floors {
  readonly #floors = new Map<string, number>()
  #sweptAt = -Infinity
  #sweepMs = 0

  /** The lanes to look into, in order: queues as given, within each the weightiest priority first. */
  lanes(queueIds: readonly number[], { sweep }: { sweep: boolean }): Lane[] {
    return priorities.flatMap((priority) =>
      queueIds.map((queueId) => ({
        queueId,
        priority,
        floor: sweep ? 0 : (this.#floors.get(`${queueId}:${priority}`) ?? 0),
      })),
    )
  }

  /** Whether it is time to look from the first job on. */
  sweepDue(nowMs: number, { hinted }: { hinted: boolean }): boolean {
    const everyMs = hinted
      ? Math.max(hintedEveryMs, hintedShare * this.#sweepMs)
      : Math.max(sweepEveryMs, sweepShare * this.#sweepMs)
    return nowMs - this.#sweptAt >= everyMs
  }

  /** Forgets all of it: what was seen is not what is there. */
  forget(): void {
    this.#floors.clear()
    this.#sweptAt = -Infinity
  }

  /** Notes that it was done, and how long it took. */
  swept(nowMs: number, tookMs: number): void {
    this.#sweptAt = nowMs
    this.#sweepMs = tookMs
  }

  /** Raises the floors to what was claimed. */
  seen(jobs: readonly ClaimedRow[]): void {
    for (const { queueId, priority, state, id } of jobs) {
      if (state !== ready) continue
      const key = `${queueId}:${priority}`
      if (id > (this.#floors.get(key) ?? 0)) this.#floors.set(key, id)
    }
  }
}

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
    const everyMs = hinted ? hintedShare * this.#tookMs : Math.max(lookEveryMs, sweepShare * this.#tookMs)
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

/** Queues in the order in which to look into them this time: by chance, the heavier ones first more often. */
export function shuffle<Q extends { weight: number }>(queues: readonly Q[], random: () => number): Q[] {
  return queues
    .map((queue) => ({ queue, rank: random() ** (1 / queue.weight) }))
    .toSorted((a, b) => b.rank - a.rank)
    .map(({ queue }) => queue)
}
