import type { JobQueue } from '../../jobs/queue.ts'
import { parseDuration, type Duration } from '../../std/duration.ts'
import type { Database } from '../../store/database.ts'
import * as store from '../../store/schedules.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { ticksBetween } from './calendar.ts'
import type { ScheduleDefinition } from './define.ts'
import { settleNext, type Start } from './settle.ts'
import { rowOf, tickOf, type ScheduleTick } from './status.ts'

interface Deps {
  database: () => Promise<Database>
  queue: JobQueue
  telemetry: Telemetry
  start: Start
}

/** What tests of schedules need and nobody else should have: the way of `sluice/testing` into the engine. */
export class ScheduleBench {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** The ticks in (after, upTo]. */
  ticksOf({ calendar }: ScheduleDefinition, { after, upTo }: { after: Date; upTo: Date }): Date[] {
    return ticksBetween(calendar, after, upTo)
  }

  /** Lets so much time pass for a schedule, settles what is due then, and gives that, oldest first. */
  async pass(definition: ScheduleDefinition, duration: Duration): Promise<ScheduleTick[]> {
    const ms = parseDuration(duration)
    if (ms === undefined) throw new TypeError(`pass takes a time such as "1h", not ${JSON.stringify(duration)}`)
    const { queue, telemetry, start } = this.#deps
    const database = await this.#deps.database()
    const { name } = definition
    await store.register(database.control, { ...rowOf(definition), by: 'person', leaseMs: 0 })
    await store.passTickTime(database.control, { names: [name], ms })
    const settled: string[] = []
    const unsubscribe = telemetry.onAny(({ event, payload }) => {
      if (event === 'schedule.ticked' || event === 'schedule.skipped' || event === 'schedule.failed') {
        settled.push(payload.tick.toISOString())
      }
    })
    try {
      while ((await settleNext(definition, { database, queue, telemetry, start })) === 'settled');
    } finally {
      unsubscribe()
    }
    const rows = await store.listTicks(database.control, { names: [name], before: null, limit: 1_000 })
    return rows
      .filter(({ tick }) => settled.includes(tick.toISOString()))
      .map(tickOf)
      .toReversed()
  }
}
