import { SluiceError } from '../../errors.ts'
import { storable } from '../../std/storable.ts'
import { didYouMean } from '../../std/suggest.ts'
import type { JobQueue } from '../../jobs/queue.ts'
import { audited, type Who } from '../../store/audit.ts'
import type { Database } from '../../store/database.ts'
import { refuseStale, type Seen, type Switch } from '../../store/expected.ts'
import * as store from '../../store/schedules.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { ScheduleDefinition, ScheduleRegistry } from './define.ts'
import { blockerOf, lacksPartition, nameOf, report, startRun, type Start } from './settle.ts'
import { rowOf, statusOf, tickOf, unseen, type ScheduleStatus, type ScheduleTick } from './status.ts'
import { inTurn } from './turns.ts'

interface Deps {
  database: () => Promise<Database>
  queue: JobQueue
  telemetry: Telemetry
  registry: ScheduleRegistry
  start: Start
}

/** Who does it, from where and why, and whether they have seen the schedule enabled. */
export type ScheduleVerbOptions = Seen<Switch>

/** Schedules: look at them, run one now, stop one and let it go on. */
export class Schedules {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** All schedules, by name: those that workers have been there for, and those that this process knows. */
  async list(): Promise<ScheduleStatus[]> {
    const database = await this.#deps.database()
    const rows = await store.list(database.control, { names: null })
    const there = new Set(rows.map(({ name }) => name))
    const fresh = this.#deps.registry.definitions.filter(({ name }) => !there.has(name)).map(unseen)
    const last = await store.listTicks(database.control, { names: [...there], before: null, limit: 1 })
    const lastOf = new Map(last.map((tick) => [tick.schedule, tick]))
    const statuses = await Promise.all(rows.map((row) => this.#statusOf(database, row, lastOf.get(row.name))))
    return [...statuses, ...fresh].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** One schedule. */
  async get(name: string): Promise<ScheduleStatus> {
    const database = await this.#deps.database()
    const [row] = await store.list(database.control, { names: [storable(name, 200)] })
    if (row !== undefined) {
      const [last] = await store.listTicks(database.control, { names: [row.name], before: null, limit: 1 })
      return this.#statusOf(database, row, last)
    }
    if (this.#deps.registry.has(name)) return unseen(this.#deps.registry.find(name))
    throw await this.#notFound(name)
  }

  /** The ticks of a schedule that were settled, latest first; or so many of each of several. */
  async ticks(
    name: string | readonly string[],
    { before, limit = 50 }: { before?: Date; limit?: number } = {},
  ): Promise<ScheduleTick[]> {
    const { control } = await this.#deps.database()
    const names = [name].flat().map((one) => storable(one, 200))
    const bounded = Math.min(Math.max(1, Math.floor(limit)), 1_000)
    return (await store.listTicks(control, { names, before: before ?? null, limit: bounded })).map(tickOf)
  }

  /** What {@link run} would start, by the code of this process. */
  target(name: string): ScheduleStatus['target'] {
    const { kind, definition } = this.#deps.registry.find(name).target
    return { kind, name: definition.name }
  }

  /** Starts a run now, beside the clock; also of a schedule that is disabled. Refused while a run is in the way. */
  async run(name: string, who: Who = {}): Promise<ScheduleTick> {
    const definition = this.#deps.registry.find(name)
    const database = await this.#registered(name)
    const once = (): Promise<store.NewTick> => inTurn(database, () => this.#runOnce(database, definition, who))
    const written = await once().catch(async (error: unknown) => {
      if (!lacksPartition(error)) throw error
      await store.createTickPartitions(database.control, { around: null })
      return once()
    })
    report(this.#deps.telemetry, written)
    const [last] = await this.ticks(name, { limit: 1 })
    return last as ScheduleTick
  }

  /** Lets no tick of a schedule start anything until {@link enable}; runs go on. */
  async disable(name: string, who: ScheduleVerbOptions = {}): Promise<ScheduleStatus> {
    const about = { actor: who.actor ?? null, reason: who.reason ?? null }
    await this.#switch(name, { enabled: false, ...about }, who)
    this.#deps.telemetry.emit('schedule.disabled', { schedule: name, ...about })
    return this.get(name)
  }

  /** Lets a disabled schedule go on with its next tick. What it would have done meanwhile is not made up for. */
  async enable(name: string, who: ScheduleVerbOptions = {}): Promise<ScheduleStatus> {
    await this.#switch(name, { enabled: true, actor: null, reason: null }, who)
    this.#deps.telemetry.emit('schedule.enabled', { schedule: name, actor: who.actor ?? null })
    return this.get(name)
  }

  async #runOnce(database: Database, definition: ScheduleDefinition, who: Who): Promise<store.NewTick> {
    return audited(database, who, async (tx) => {
      const [row] = await store.lockAnyway(tx, { name: definition.name })
      if (row === undefined) throw await this.#notFound(definition.name)
      const blocker = await blockerOf({ connection: tx, queue: this.#deps.queue }, definition, row)
      if (blocker !== undefined) throw blocked(definition.name, nameOf(blocker))
      const started = await startRun(tx, definition, { tick: row.now, start: this.#deps.start })
      const result = { schedule: definition.name, tick: null, missed: 0, actor: who.actor ?? 'a person', ...started }
      await store.settle(tx, result)
      const { job_id: jobId, operation_id: operationId } = result
      return { result, act: { action: 'schedule.run', target: definition.name, after: { jobId, operationId } } }
    })
  }

  async #switch(
    name: string,
    to: { enabled: boolean; actor: string | null; reason: string | null },
    who: ScheduleVerbOptions,
  ): Promise<void> {
    const database = await this.#registered(name)
    const changed = await audited(database, who, async (tx) => {
      const [was] = await store.lockAnyway(tx, { name: storable(name, 200) })
      if (was !== undefined) refuseStale(`Schedule ${was.name}`, was.enabled ? 'enabled' : 'disabled', who)
      const [result] = await store.enable(tx, { name: storable(name, 200), ...to })
      const action = to.enabled ? 'schedule.enable' : 'schedule.disable'
      const states = { before: { enabled: was?.enabled ?? null }, after: { enabled: to.enabled } }
      return { result, act: result && { action, target: name, ...states } }
    })
    if (changed === undefined) throw await this.#notFound(name)
  }

  async #statusOf(
    database: Database,
    row: store.ScheduleRow,
    last: store.TickRow | undefined,
  ): Promise<ScheduleStatus> {
    const { registry } = this.#deps
    const policy = { overlap: row.overlap, deadlineMs: row.deadline_ms ?? undefined }
    const blocker = await blockerOf({ connection: database.control, queue: this.#deps.queue }, policy, row)
    return statusOf(row, {
      ...(registry.has(row.name) ? { definition: registry.find(row.name) } : {}),
      ...(blocker === undefined ? {} : { blocker }),
      ...(last === undefined ? {} : { last }),
    })
  }

  /** A schedule that this process knows and no worker has seen yet is recorded before it is changed. */
  async #registered(name: string): Promise<Database> {
    const database = await this.#deps.database()
    const { registry } = this.#deps
    if (!registry.has(name)) return database
    const there = await store.list(database.control, { names: [name] })
    if (there.length === 0)
      await store.register(database.control, { ...rowOf(registry.find(name)), by: 'person', leaseMs: 0 })
    return database
  }

  async #notFound(name: string): Promise<SluiceError> {
    const rows = await store.list((await this.#deps.database()).control, { names: null })
    const known = rows.map((row) => row.name)
    return new SluiceError('SCHEDULE_NOT_FOUND', {
      message: `There is no schedule named "${storable(name, 100)}".${didYouMean(name, known)} "sluice schedules list" shows what is there.`,
      details: { name, known },
    })
  }
}

function blocked(name: string, blocker: string): SluiceError {
  return new SluiceError('SCHEDULE_STATE', {
    message: `"${name}" does not run now: it is blocked by ${blocker}, which has not ended. Wait for it or cancel it, or define the schedule with overlap "allow" or a deadline.`,
    details: { name, blockedBy: blocker },
  })
}
