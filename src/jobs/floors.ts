import type { ClaimedJob, Lane } from '../store/jobs/claim.ts'

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
  seen(jobs: readonly ClaimedJob[]): void {
    for (const { queueId, priority, state, id } of jobs) {
      if (state !== ready) continue
      const key = `${queueId}:${priority}`
      if (id > (this.#floors.get(key) ?? 0)) this.#floors.set(key, id)
    }
  }
}
