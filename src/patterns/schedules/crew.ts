/**
 * Schedules: how a worker keeps them.
 *
 * The model. A schedule is a definition in code and a row in the database. The row says up to which moment its ticks
 * are settled. Every worker that knows a schedule looks when the next tick is due, waits, and tries to settle it: lock
 * the row, start the job or operation, write the tick's row, move the moment on, commit.
 *
 * The invariants. One row per schedule and tick: whoever holds the lock sees what was settled before, and a second
 * row for a tick is refused by its primary key. The run and the row are one transaction, so there is neither a tick
 * without its run nor a run without its tick. What is due is decided by the database's clock and a pure function; a
 * worker's own clock has no say. There is no leader: who is first does it, and the others find it done.
 *
 * On a crash before COMMIT nothing has happened, and any other worker settles the tick within a moment. When the answer
 * to COMMIT is lost, the next look at the row tells. When nobody was there, the first worker that comes finds what is
 * due since, and the schedule's `missed` says what becomes of it.
 *
 * A worker leaves alone what it does not know, and also a schedule whose rule or zone in the database is not the one
 * in its code: during a deploy the newer release has said what holds. When no worker that keeps that rule is left, it
 * brings its own back: somebody has to keep the schedule.
 *
 * Decisions.
 * - A process starts one scheduled run at a time; `turns.ts` explains the deadlock that this avoids.
 * - Ticks are kept in weekly partitions, as operations are, and are dropped with them. After a long gap the skipped
 *   ticks become a count on the row of the next tick: a month of seconds must not become two million rows.
 */
import type { JobQueue } from '../../jobs/queue.ts'
import type { Crew, Shift } from '../../runtime/crew.ts'
import { backoffMs } from '../../std/backoff.ts'
import { errorRecord } from '../../std/error-record.ts'
import { sleep } from '../../std/sleep.ts'
import type { Database } from '../../store/database.ts'
import * as store from '../../store/schedules.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { nextTick } from './calendar.ts'
import type { ScheduleDefinition, ScheduleRegistry } from './define.ts'
import { settleNext, type Start } from './settle.ts'
import { rowOf } from './status.ts'

interface Deps {
  database: Database
  queue: JobQueue
  telemetry: Telemetry
  registry: ScheduleRegistry
  start: Start
  /** Days that ticks are kept. */
  keepDays: number
}

/** A look at least so often: people enable schedules, and others change them. */
const pollMs = 1_000
/** Another worker is at it, or a run is in the way: look again soon. */
const soonMs = 250
const sightEveryMs = 30_000
const partitionsEveryMs = 3_600_000

/** Settles the ticks of the schedules that this process knows until the shift ends. */
export class ScheduleCrew implements Crew {
  readonly #deps: Deps
  /** When each schedule is due next, and up to where it was settled when that was found out. */
  readonly #next = new Map<string, { after: number; due: number }>()
  /** The rules of others by which schedules are kept that we know by another. */
  readonly #left = new Map<string, string>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  async work({ stopping, leaseMs }: Shift): Promise<void> {
    const { registry, telemetry } = this.#deps
    if (registry.names.length === 0) return
    let [failures, registered, sightAt, partitionsAt] = [0, false, 0, 0]
    while (!stopping.aborted) {
      let waitMs = pollMs
      try {
        if (!registered) for (const definition of registry.definitions) await this.#register(definition, leaseMs)
        registered = true
        if (performance.now() >= partitionsAt) {
          await this.#keepPartitions()
          partitionsAt = performance.now() + partitionsEveryMs
        }
        if (performance.now() >= sightAt) {
          await store.sight(this.#deps.database.control, { names: registry.names })
          sightAt = performance.now() + sightEveryMs
        }
        waitMs = await this.#round(stopping, leaseMs)
        failures = 0
      } catch (error) {
        failures += 1
        waitMs = backoffMs(failures, { baseMs: 200, maxMs: 10_000 }, Math.random())
        const lost = { purpose: 'schedules', error: errorRecord(error), attempt: failures, waitMs }
        if (!stopping.aborted) telemetry.emit('connection.lost', lost)
      }
      await sleep(waitMs, stopping)
    }
  }

  async #register(definition: ScheduleDefinition, leaseMs: number): Promise<boolean> {
    const order = { ...rowOf(definition), by: 'worker', leaseMs } as const
    return (await store.register(this.#deps.database.control, order)).length > 0
  }

  async #keepPartitions(): Promise<void> {
    const { control } = this.#deps.database
    await store.createTickPartitions(control, { around: null })
    await store.dropTickPartitions(control, { keepDays: this.#deps.keepDays })
  }

  /** Settles what is due, one tick of each schedule at a time; gives how long to wait before the next look. */
  async #round(stopping: AbortSignal, leaseMs: number): Promise<number> {
    const { database, registry } = this.#deps
    const rows = new Map((await store.list(database.control, { names: registry.names })).map((row) => [row.name, row]))
    let waitMs = pollMs
    for (const definition of registry.definitions) {
      const row = rows.get(definition.name)
      if (row === undefined) await this.#register(definition, leaseMs)
      else if (isOther(definition, row)) await this.#claim(definition, row, leaseMs)
      else if (!stopping.aborted) waitMs = Math.min(waitMs, await this.#keep(definition, row))
    }
    return waitMs
  }

  /** Brings our rule of a schedule back if nobody keeps the one that it has; else says once that it is left alone. */
  async #claim(definition: ScheduleDefinition, row: store.ScheduleRow, leaseMs: number): Promise<void> {
    const { name, rule } = definition
    const other = `${row.rule} ${row.zone}`
    if (await this.#register(definition, leaseMs)) this.#left.delete(name)
    else if (this.#left.get(name) !== other) {
      this.#left.set(name, other)
      const message =
        `Other workers keep the schedule "${name}" by the rule "${row.rule}" (${row.zone}), and this one has ` +
        `"${rule}" in its code. It leaves the schedule to them as long as they are there.`
      this.#deps.telemetry.emit('warning', { message })
    }
  }

  /** Settles a tick of one schedule if one is due; gives how long it can wait for the next look. */
  async #keep(definition: ScheduleDefinition, row: store.ScheduleRow): Promise<number> {
    if (!row.enabled) return pollMs
    const dueInMs = this.#dueOf(definition, row) - row.now.getTime()
    if (dueInMs > 0) return dueInMs
    const outcome = await settleNext(definition, this.#deps)
    return outcome === 'settled' || outcome === 'idle' ? 0 : soonMs * (0.5 + Math.random())
  }

  #dueOf(definition: ScheduleDefinition, { considered_to: after }: store.ScheduleRow): number {
    const known = this.#next.get(definition.name)
    if (known !== undefined && known.after === after.getTime()) return known.due
    const next = nextTick(definition.calendar, after)
    const due = next === undefined ? Number.POSITIVE_INFINITY : next.getTime() + definition.delayMs
    this.#next.set(definition.name, { after: after.getTime(), due })
    return due
  }
}

/** Whether a schedule has another rule in the database than in our code. */
function isOther({ rule, calendar: { zone } }: ScheduleDefinition, row: store.ScheduleRow): boolean {
  return row.rule !== rule || row.zone !== zone
}
