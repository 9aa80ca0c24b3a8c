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
} from '../../store/job-batches.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { endMembers } from './cancel.ts'

interface Deps {
  database: Database
  telemetry: Telemetry
  jobs: Jobs
}

/** What every worker does now and then for batches of jobs: the net under what each ending does by itself. */
export class BatchCrew implements Crew {
  readonly #options: { keepDays: number; keepDeadDays: number }
  readonly #deps: Deps

  constructor(options: { keepDays: number; keepDeadDays: number }, deps: Deps) {
    this.#options = options
    this.#deps = deps
  }

  async work({ stopping, leaseMs }: Shift): Promise<void> {
    const upkeep = new Upkeep({ missing: () => this.#isWeekMissing(), keep: () => this.#partition() })
    for await (const _ of ticks(leaseMs / 3, stopping)) {
      try {
        await upkeep.turn(performance.now(), Math.random())
        await this.#sweep(leaseMs)
      } catch (error) {
        // The next tick tries again; the loops that take work report what the database says.
        if (stopping.aborted) return
        const { message } = errorRecord(error)
        this.#deps.telemetry.emit('warning', { message: `Sweep of batches of jobs failed: ${message}` })
      }
    }
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

  async #sweep(idleMs: number): Promise<void> {
    const { telemetry, database } = this.#deps
    const { keepDays } = this.#options
    for (const { id } of await suspectBatches(database.control, { idleMs })) {
      const [mended] = await mendBatch(database.control, { id, keepDays })
      reportBatches(telemetry, mended?.news ?? [])
    }
    for (const { id, reason } of await cancelledBatches(database.control)) {
      await endMembers(this.#deps, { id, reason })
    }
  }
}
