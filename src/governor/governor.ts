/**
 * The governor: as fast as the database allows, and no faster.
 *
 * The model. Probes measure the database, each with a soft and a hard limit. A sampler reads them once a second in the
 * background, for all operations of the process. From what it read, a pure function makes the pace of each operation:
 * the share of the time that its lanes may work, what limits it, and whether it has to stop. Lanes ask for the pace
 * between two transactions and rest accordingly, never inside one. A stop is a hold of the operation with a reason and
 * an end: its batches are given back and take no slot.
 *
 * The invariants. The worst signal counts. Budgets that cannot be read any more stop the work, gauges keep their last
 * value. A person's pace is an upper bound. A hold ends by itself: when the signals have been calm for a while, or at
 * the time that is written down with it.
 *
 * On a crash nothing is left but a hold whose time runs out. Every process decides for itself from what it sees, so
 * there is no leader; one that sees a reason to hold an operation holds it for all.
 *
 * Decisions. A stop is a hold, because a lane that waits for the health of the database would keep a slot and a lease
 * for nothing. A hold is ended by its reason: the process that set it compares the text, so it cannot end the hold of
 * somebody else, and no column has to say whose it is. Budgets are explained in `budget.ts`, probes in `probe.ts`.
 */
import { errorRecord } from '../std/error-record.ts'
import { endGoverned, holdGoverned, noteLimiter } from '../store/governing.ts'
import type { Crew, Shift } from '../runtime/crew.ts'
import type { Database } from '../store/database.ts'
import { Pool } from '../store/pool.ts'
import type { Target } from '../targets/target.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { Budget, type BudgetOptions } from './budget.ts'
import { Course, type Governed } from './course.ts'
import { limiterInWords } from './limiter.ts'
import { Peers } from './peers.ts'
import { settleLanes } from './settle-lanes.ts'
import type { Blindness, Probe } from './probe.ts'
import { recentReadings, signalOf, type SignalReading } from './reading.ts'
import { rest, type Resting } from './rest.ts'
import { Sampler } from './sampler.ts'
import { VacuumCare } from './vacuum-care.ts'

/** How the governor works. */
export interface GovernorOptions {
  everyMs: number
  /** How long a hold may last without making its signal better. */
  patienceMs: number
  cores: number
  probes: readonly Probe[]
  budget: BudgetOptions
}

interface Deps {
  database: Database
  target: Pick<Target, 'upkeep'>
  telemetry: Telemetry
}

/** What a sub-batch did, and the pace that a person allows. */
export interface Done {
  elapsedMs: number
  rowsChanged: number
  walBytes: number
  pace: number
}

/** The governor of one batch that runs. */
export interface BatchGovernor {
  /** How busy the database is with the work of others, from 0 to 1. */
  readonly load: number
  /** Whether the operation has to stop; then it is on hold, for all processes. */
  mustHold(signal: AbortSignal): Promise<boolean>
  /** Rests between two transactions, as the pace and the budget ask for. */
  rest(done: Done, resting: Resting): Promise<void>
  /** The batch is over. */
  end(): void
}

/** What is known about an operation outlasts the moment between two batches. */
const keepMs = 15_000
/** A limiter is written down this often at most while it stays the same. */
const tellEveryMs = 5_000

export class Governor implements Crew {
  readonly #options: GovernorOptions
  readonly #deps: Deps
  readonly #sampler: Sampler
  readonly #budget: Budget
  readonly #pool: Pool
  readonly #care: VacuumCare
  readonly #peers = new Peers()
  readonly #courses = new Map<string, Course>()
  readonly #shifts = new Set<AbortSignal>()
  #sampling: { over: AbortController; done: Promise<void> } | undefined
  #committed = 0
  #workerId = ''

  constructor(options: GovernorOptions, deps: Deps) {
    this.#options = options
    this.#deps = deps
    const { database, telemetry } = deps
    const { options: how, pooled } = database
    const timeouts = { statementMs: 1_000, lockMs: 200, idleInTransactionMs: 5_000 }
    this.#pool = new Pool({ ...how, purpose: 'health', size: 1, pooled, timeouts })
    this.#budget = new Budget(options.budget, database.control)
    this.#care = new VacuumCare({ upkeep: deps.target.upkeep(), warn: (what, error) => this.#warn(what, error) })
    const work = {
      tables: () => this.#tables(),
      committed: () => this.#committed,
      transactions: () => this.#transactions,
      peers: () => this.#peers.perSecond,
      limited: () => [...this.#courses.values()].some(({ pace }) => pace.limiter?.effect === 'hold' && !pace.held),
    }
    const looked = (): Promise<void> => this.#looked()
    this.#sampler = new Sampler(options, { connection: this.#pool, telemetry, work, looked })
  }

  /** Samples as long as anybody works in this process. */
  async work({ stopping, workerId }: Pick<Shift, 'stopping' | 'workerId'>): Promise<void> {
    this.#workerId = workerId
    this.#shifts.add(stopping)
    this.#sampling ??= this.#sample()
    if (!stopping.aborted) await new Promise((resolve) => stopping.addEventListener('abort', resolve, { once: true }))
    this.#shifts.delete(stopping)
    const sampling = this.#sampling
    if (this.#shifts.size > 0) return
    this.#sampling = undefined
    sampling?.over.abort()
    await sampling?.done
  }

  /** Closes its connection. */
  async close(): Promise<void> {
    await Promise.all([this.#pool.end(), this.#care.close()])
  }

  /** Each probe with what it cannot see with this role. */
  async examine(): Promise<{ probe: Probe; blindness: Blindness | undefined }[]> {
    return this.#sampler.examine()
  }

  /** What the probes have said lately, with their limits. */
  readings(): SignalReading[] {
    return recentReadings(this.#sampler, this.#tables(), performance.now())
  }

  /** Puts back what operations that are over have changed in the settings of tables; any worker does it. */
  async tidy(): Promise<void> {
    await this.#care.restore()
  }

  /** Governs a batch that is about to run. */
  govern(operation: Governed): BatchGovernor {
    const course = this.#courseOf(operation)
    course.running += 1
    this.#sampler.rouse()
    let owedMs = 0
    return {
      get load() {
        return course.load
      },
      mustHold: (signal) => this.#mustHold(course, signal),
      rest: async (done, resting) => {
        this.#committed += 1
        course.note(done.elapsedMs, performance.now())
        this.#care.changed(operation.table, done.rowsChanged, operation.vacuum?.every)
        await this.#pay(done, resting)
        owedMs = await rest(course, { ...done, owedMs }, resting)
      },
      end: () => {
        course.running -= 1
        course.endedAtMs = performance.now()
      },
    }
  }

  /** Whether an operation has to wait that is about to be taken up; then it is on hold, for all processes. */
  async keepsOut(operation: Governed): Promise<boolean> {
    const course = this.#courses.get(operation.id)
    if (course?.pace.held !== true) return false
    await this.#hold(course)
    return true
  }

  /** All that this process has had, for whatever purpose. */
  get #transactions(): number {
    const { control, work } = this.#deps.database
    return control.transactions + work.transactions + this.#pool.transactions
  }

  #tables(): string[] {
    return [...new Set([...this.#courses.values()].map(({ operation }) => operation.table))]
  }

  #courseOf(operation: Governed): Course {
    const course = this.#courses.get(operation.id) ?? new Course(operation)
    this.#courses.set(operation.id, course)
    return course
  }

  async #mustHold(course: Course, signal: AbortSignal): Promise<boolean> {
    await this.#sampler.fresh(signal)
    if (!course.followed) this.#follow(course, performance.now())
    if (!course.pace.held) return false
    await this.#hold(course)
    return true
  }

  async #hold(course: Course): Promise<void> {
    const { id, name } = course.operation
    const { limiter } = course.pace
    const reason = limiter === undefined ? 'the database needs a rest' : limiterInWords(limiter)
    const waitMs = course.nextWaitMs(Math.random())
    const [held] = await holdGoverned(this.#deps.database.control, { id, reason, waitMs })
    if (held === undefined) return
    course.heldFor = reason
    this.#deps.telemetry.emit('operation.held', { operationId: id, name, reason, until: held.until })
  }

  async #pay({ rowsChanged: rows, walBytes }: Done, resting: Resting): Promise<void> {
    try {
      await this.#budget.pay({ rows, walBytes }, resting)
    } catch (error) {
      // Whoever works finds out what the database lacks; what was not paid for is paid with the next.
      this.#warn('could not take from the budget', error)
    }
  }

  #sample(): { over: AbortController; done: Promise<void> } {
    const over = new AbortController()
    return { over, done: this.#sampler.run(over.signal) }
  }

  /** After each look: the pace of every operation, and what there is to say about it. */
  async #looked(): Promise<void> {
    const nowMs = performance.now()
    for (const course of this.#courses.values()) {
      if (isOver(course, nowMs)) this.#courses.delete(course.operation.id)
      this.#follow(course, nowMs)
      if (course.running === 0 && course.heldFor === undefined) continue
      try {
        await this.#tell(course, nowMs)
        if (!course.pace.held && course.heldFor !== undefined) await this.#endHold(course, course.heldFor)
        const { id, table, vacuum } = course.operation
        if (course.running > 0 && vacuum?.truncate === false) await this.#care.keepEnd(table, id)
        await settleLanes(this.#deps.database.control, course, { nowMs, cores: this.#options.cores })
      } catch (error) {
        // The next look says it again; a hold ends at its time in any case.
        this.#warn('could not say what limits an operation', error)
      }
    }
    // Last: no pace waits for others to be heard.
    if (this.#courses.size > 0) await this.#hearPeers(nowMs)
  }

  async #hearPeers(nowMs: number): Promise<void> {
    const own = { workerId: this.#workerId, transactions: this.#transactions, nowMs }
    try {
      await this.#peers.hear(this.#deps.database.control, own)
    } catch (error) {
      this.#warn('could not hear from other workers', error)
    }
  }

  #follow(course: Course, nowMs: number): void {
    const { table } = course.operation
    const signals = this.#sampler.sighted.map((probe) => signalOf(probe, this.#sampler.reading(probe, table)))
    course.follow(signals, { nowMs, patienceMs: this.#options.patienceMs })
  }

  async #endHold(course: Course, reason: string): Promise<void> {
    await endGoverned(this.#deps.database.control, { id: course.operation.id, reason })
    course.heldFor = undefined
  }

  /** Says what limits an operation when that changes, and now and then while it lasts. */
  async #tell(course: Course, nowMs: number): Promise<void> {
    const { limiter, share } = course.pace
    const { id, name } = course.operation
    const changed = limiter?.probe !== course.told.probe
    if (!changed && (limiter === undefined || nowMs - course.told.atMs < tellEveryMs)) return
    const record = limiter === undefined ? null : { ...limiter, share, sentence: limiterInWords(limiter) }
    await noteLimiter(this.#deps.database.control, { id, by: this.#workerId, limiter: record })
    course.told = { probe: limiter?.probe, atMs: nowMs }
    if (!changed) return
    const { probe = null, value = null, soft = null, hard = null } = limiter ?? {}
    const reason = limiter === undefined ? null : limiterInWords(limiter)
    this.#deps.telemetry.emit('operation.limited', { operationId: id, name, probe, value, soft, hard, share, reason })
  }

  #warn(what: string, error: unknown): void {
    this.#deps.telemetry.emit('warning', { message: `The governor ${what}: ${errorRecord(error).message}` })
  }
}

/** Nothing of it runs here any more, and no hold of it has to be ended. */
function isOver({ running, heldFor, endedAtMs }: Course, nowMs: number): boolean {
  return running === 0 && heldFor === undefined && nowMs - endedAtMs > keepMs
}
