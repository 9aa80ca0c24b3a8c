import type { Jobs } from '../../jobs/jobs.ts'
import { reportBatches } from '../../jobs/members.ts'
import type { Crew, Shift } from '../../runtime/crew.ts'
import { Upkeep } from '../../runtime/upkeep.ts'
import { errorRecord } from '../../std/error-record.ts'
import { ticks } from '../../std/sleep.ts'
import type { Database } from '../../store/database.ts'
import {
  cancelledBatches,
  createBatchPartitions,
  dropBatchPartitions,
  isBatchWeekMissing,
  mendBatch,
  suspectBatches,
  type UnclearBatch,
} from '../../store/job-batches.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { endMembers } from './cancel.ts'
import { recount } from './recount.ts'

interface Deps {
  database: Database
  telemetry: Telemetry
  jobs: Jobs
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
    const upkeep = new Upkeep({ missing: () => this.#isWeekMissing(), keep: () => this.#partition() })
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

  async #isWeekMissing(): Promise<boolean> {
    const [week] = await isBatchWeekMissing(this.#deps.database.control)
    return week?.missing === true
  }

  async #partition(): Promise<void> {
    const { control } = this.#deps.database
    await createBatchPartitions(control)
    // As long as the members that can be taken up again.
    await dropBatchPartitions(control, { keepDays: this.#options.keepDeadDays })
  }

  async #sweep(idleMs: number, stopping: AbortSignal): Promise<void> {
    const { telemetry, database } = this.#deps
    const { keepDays } = this.#options
    for (const { id } of await suspectBatches(database.control, { idleMs })) {
      const [mended] = await mendBatch(database.control, { id, keepDays })
      for (const news of mended?.news ?? []) {
        if (news.event === 'unclear') this.#recount(news, stopping)
        else reportBatches(telemetry, [news])
      }
    }
    for (const { id, reason } of await cancelledBatches(database.control)) {
      await endMembers(this.#deps, { id, reason })
    }
  }

  #recount(unclear: UnclearBatch, stopping: AbortSignal): void {
    const { telemetry, database } = this.#deps
    if (this.#unclear.has(unclear.batchId)) return
    this.#unclear.add(unclear.batchId)
    this.#recounts = this.#recounts
      .then(async () =>
        reportBatches(telemetry, await recount(unclear, { database, keepDays: this.#options.keepDays, stopping })),
      )
      .catch((error: unknown) => stopping.aborted || this.#warn(error))
      .then(() => void this.#unclear.delete(unclear.batchId))
  }
}
