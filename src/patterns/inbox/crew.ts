import type { JobQueue } from '../../jobs/queue.ts'
import type { Crew, Shift } from '../../runtime/crew.ts'
import type { Registry } from '../../runtime/registry.ts'
import { Upkeep } from '../../runtime/upkeep.ts'
import { errorRecord } from '../../std/error-record.ts'
import { ticks } from '../../std/sleep.ts'
import type { Database } from '../../store/database.ts'
import {
  createInboxPartitions,
  dropInboxPartitions,
  forgetResults,
  freeKeys,
  isInboxDayMissing,
} from '../../store/inbox-chores.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { InboxDefinition } from './define.ts'
import { beginning, lookForLost, type Place } from './lost-jobs.ts'

interface Deps {
  database: Database
  telemetry: Telemetry
  queue: JobQueue
  registry: Registry<InboxDefinition>
}

const everyMs = 10_000
/** Small enough to be over in some milliseconds, and never more than a few of them in one go. */
const perDelete = 1_000
const mostDeletes = 20

/** What every worker does now and then for the inboxes of all: no leader, and no harm when several do it at once. */
export class InboxCrew implements Crew {
  readonly #options: { keepDays: number; keepDeadDays: number }
  readonly #deps: Deps
  readonly #places = new Map<string, Place>()

  constructor(options: { keepDays: number; keepDeadDays: number }, deps: Deps) {
    this.#options = options
    this.#deps = deps
  }

  async work({ stopping }: Shift): Promise<void> {
    const upkeep = new Upkeep({ missing: () => this.#isTodayMissing(), keep: () => this.#keepPartitions() })
    for await (const _ of ticks(everyMs, stopping)) {
      try {
        await upkeep.turn(performance.now(), Math.random())
        await this.#forget(stopping)
        for (const inbox of this.#deps.registry.definitions) await this.#lookForLost(inbox, stopping)
      } catch (error) {
        // The next tick tries again; the loops that take work report what the database says.
        if (stopping.aborted) return
        this.#deps.telemetry.emit('warning', { message: `Upkeep of inboxes failed: ${errorRecord(error).message}` })
      }
    }
  }

  async #isTodayMissing(): Promise<boolean> {
    const [today] = await isInboxDayMissing(this.#deps.database.control)
    return today?.missing === true
  }

  async #keepPartitions(): Promise<void> {
    const { control } = this.#deps.database
    await createInboxPartitions(control)
    await dropInboxPartitions(control, this.#options)
  }

  /** Keys and results whose time is over, in small batches. */
  async #forget(signal: AbortSignal): Promise<void> {
    const { control } = this.#deps.database
    for (let i = 0; i < mostDeletes && !signal.aborted; i++) {
      const [keys] = await freeKeys(control, { limit: perDelete })
      const [results] = await forgetResults(control, { limit: perDelete })
      if ((keys?.freed ?? 0) < perDelete && (results?.forgotten ?? 0) < perDelete) return
    }
  }

  /** One page at a time, so that a long queue costs little; more where something is amiss. */
  async #lookForLost(inbox: InboxDefinition, signal: AbortSignal): Promise<void> {
    for (let found = true; found && !signal.aborted;) {
      const looked = await lookForLost(inbox, this.#places.get(inbox.name) ?? beginning, this.#deps)
      this.#places.set(inbox.name, looked.next)
      found = looked.found
    }
  }
}
