import type { Crew, Shift } from '../../runtime/crew.ts'
import { Upkeep } from '../../runtime/upkeep.ts'
import { errorRecord } from '../../std/error-record.ts'
import { ticks } from '../../std/sleep.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { BatchStore, UnclearBatch } from './batch-store.ts'

interface Deps {
  store: BatchStore
  telemetry: Telemetry
}

/** What every worker does now and then for batches of jobs: the net under what each ending does by itself. */
export class BatchCrew implements Crew {
  readonly #options: { keepDays: number; keepDeadDays: number }
  readonly #deps: Deps
  /** Batches that are counted by history, one after the other; nothing waits for them. */
  readonly #unclear = new Set<number>()
  #recounts: Promise<void> = Promise.resolve()

  constructor(options: { keepDays: number; keepDeadDays: number }, deps: Deps) {
    this.#options = options
    this.#deps = deps
  }

  async work({ stopping, leaseMs }: Shift): Promise<void> {
    const { store } = this.#deps
    // As long as the members that can be taken up again.
    const keepDays = this.#options.keepDeadDays
    const upkeep = new Upkeep({ missing: () => store.lacksPartitions(), keep: () => store.maintain({ keepDays }) })
    for await (const _ of ticks(leaseMs / 3, stopping)) {
      try {
        await upkeep.turn(performance.now(), Math.random())
        await this.#sweep(leaseMs, stopping)
      } catch (error) {
        // The next tick tries again; the loops that take work report what the database says.
        if (stopping.aborted) break
        this.#warn(error)
      }
    }
    await this.#recounts
  }

  #warn(error: unknown): void {
    const { message } = errorRecord(error)
    this.#deps.telemetry.emit('warning', { message: `Sweep of batches of jobs failed: ${message}` })
  }

  async #sweep(idleMs: number, stopping: AbortSignal): Promise<void> {
    const { keepDays } = this.#options
    for (const unclear of await this.#deps.store.mend({ idleMs, keepDays })) this.#recount(unclear, stopping)
  }

  #recount(unclear: UnclearBatch, stopping: AbortSignal): void {
    if (this.#unclear.has(unclear.batchId)) return
    this.#unclear.add(unclear.batchId)
    this.#recounts = this.#recounts
      .then(() => this.#deps.store.recount(unclear, { keepDays: this.#options.keepDays, stopping }))
      .catch((error: unknown) => stopping.aborted || this.#warn(error))
      .then(() => void this.#unclear.delete(unclear.batchId))
  }
}
