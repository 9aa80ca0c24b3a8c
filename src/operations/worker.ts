import { setMaxListeners } from 'node:events'
import { hostname } from 'node:os'
import type { Governor } from '../governor/governor.ts'
import type { Crew } from '../runtime/crew.ts'
import { Leases } from '../runtime/leases.ts'
import type { LeaseTimes } from '../runtime/renewal-thread.ts'
import { backoffMs } from '../std/backoff.ts'
import { errorRecord } from '../std/error-record.ts'
import { Recent } from '../std/recent.ts'
import { sleep } from '../std/sleep.ts'
import { uuidv7 } from '../std/uuid.ts'
import type { Database } from '../store/database.ts'
import type { Target } from '../targets/target.ts'
import { checkSchema } from '../store/migrate.ts'
import { beat, leave, type WorkerRow } from '../store/workers.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { version } from '../version.ts'
import type { BatchRun } from './batch-run.ts'
import { Belonging } from './belonging.ts'
import { remember, tripReason, type Outcomes } from './breaker.ts'
import { keepHouse, settleOperations } from './chores.ts'
import { Cuts } from './cuts.ts'
import type { OperationRegistry } from './definition.ts'
import { runBatch } from './batch-loop.ts'
import { Sizes } from './sizes.ts'
import { takeBatch, type Taken, type Taker } from './take.ts'
import { governed, walkOf } from './walk.ts'

/** How a worker works. */
export interface WorkerOptions extends LeaseTimes {
  /** Batches at once in this process. */
  concurrency: number
  /** How long looking for the end of a batch may take before the batch is made smaller. */
  carveMs: number
  /** Wait between looks for work when there was none. */
  pollMs: number
  /** Days that history is kept, the line that is left of an operation, and what people did. */
  keepDays: number
  keepSummaryDays: number
  keepAuditDays: number
  /** How long a stop waits for the current sub-batches before it aborts them, and for them to notice. */
  stopMs: number
  abortMs: number
  /** After so long without a renewal it ends by itself; undefined: never. */
  giveUpMs: number | undefined
}

interface Deps {
  database: Database
  target: Target
  registry: OperationRegistry
  telemetry: Telemetry
  governor: Governor
  /** Others who work in this process, and what they can do. */
  crews?: readonly Crew[]
  skills?: Pick<WorkerRow, 'jobs' | 'sweeps' | 'rules' | 'queues' | 'concurrency'>
  /** What else they keep, by name; only to be told. */
  keeps?: { schedules: string[]; reconcilers: string[] }
}

/** Takes batches and runs them until it is stopped. All workers are equal; none is needed by the others. */
export class Worker {
  readonly id: string = uuidv7()
  readonly #options: WorkerOptions
  readonly #deps: Deps
  readonly #leases: Leases
  readonly #row: WorkerRow
  readonly #outcomes = new Recent<Outcomes>()
  readonly #sizes = new Sizes()
  readonly #cuts: Cuts
  readonly #belonging: Belonging
  readonly #stopping = new AbortController()
  readonly #ending = new AbortController()
  /** Slots that wait for work. */
  readonly #naps = new Set<AbortController>()
  #deaf: () => void = () => undefined
  #patience: NodeJS.Timeout | undefined
  #loops: Promise<unknown> | undefined
  #stopped: Promise<void> | undefined
  #gone = false
  #settledAtMs = Number.NEGATIVE_INFINITY

  constructor(options: WorkerOptions, deps: Deps) {
    this.#options = options
    this.#deps = deps
    this.#cuts = new Cuts({ ...deps, carveMs: options.carveMs })
    this.#belonging = new Belonging(deps)
    // Everybody who sleeps in this process listens for the stop.
    setMaxListeners(0, this.#stopping.signal)
    this.#stopping.signal.addEventListener('abort', () => this.#wake())
    const { registry, skills = { jobs: [], sweeps: [], queues: [], concurrency: 0 } } = deps
    this.#row = { id: this.id, host: hostname(), pid: process.pid, version, operations: registry.names, ...skills }
    this.#leases = new Leases({ ...options, database: deps.database.options, worker: this.#row }, deps.telemetry)
  }

  /** Registers and begins to take work. Refuses a schema that this release does not know. */
  async start(): Promise<void> {
    const { control, work } = this.#deps.database
    control.refuseReadOnly()
    work.refuseReadOnly()
    await checkSchema(control)
    await beat(control, this.#row)
    this.#leases.start({ onDeath: (error) => this.#die(error), onDrain: () => void this.#drain() })
    this.#patience = this.#watchTrust()
    const { pid, operations, jobs, sweeps } = this.#row
    const { telemetry, keeps = { schedules: [], reconcilers: [] } } = this.#deps
    telemetry.emit('worker.started', { workerId: this.id, pid, operations, jobs, sweeps, ...keeps })
    // What is started in this very process need not be looked for.
    this.#deaf = telemetry.on('operation.started', () => this.#wake())
    // Who knows no operation looks for none.
    const size = operations.length === 0 ? 0 : this.#options.concurrency
    const slots = Array.from({ length: size }, () => this.#slot())
    const chores = keepHouse({ ...this.#deps, ...this.#options, signal: this.#stopping.signal })
    this.#loops = Promise.all([...slots, chores, ...this.#crews()])
  }

  #crews(): Promise<void>[] {
    const { leaseMs } = this.#options
    const [stopping, ending] = [this.#stopping.signal, this.#ending.signal]
    const trusted = (signal: AbortSignal): Promise<void> => this.#trusted(signal)
    const shift = { workerId: this.id, leaseMs, stopping, ending, trusted }
    return (this.#deps.crews ?? []).map((crew) => crew.work(shift))
  }

  /** It has ended, whoever wanted that. */
  get gone(): boolean {
    return this.#gone
  }

  /** Somebody has asked it to end: takes nothing new, lets what runs end in its own time, and leaves. */
  async #drain(): Promise<void> {
    if (this.#stopping.signal.aborted) return
    this.#deps.telemetry.emit('worker.draining', { workerId: this.id })
    this.#stopping.abort()
    await this.#loops
    await this.stop()
  }

  /** Lets current sub-batches end, gives the batches back, and leaves. The leases go last. */
  async stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    await this.#stopped
  }

  async #stop(): Promise<void> {
    this.#stopping.abort()
    clearInterval(this.#patience)
    const over = new AbortController()
    const patience = sleep(this.#options.stopMs, over.signal).then(() => {
      this.#ending.abort(new Error('the worker is stopping'))
      return sleep(this.#options.abortMs, over.signal)
    })
    await Promise.race([this.#loops, patience])
    over.abort()
    this.#deaf()
    await this.#leases[Symbol.asyncDispose]()
    // Without a database the row is forgotten by the others after a while.
    await leave(this.#deps.database.control, { id: this.id }).catch(() => undefined)
    this.#gone = true
    this.#deps.telemetry.emit('worker.stopped', { workerId: this.id })
  }

  async #slot(): Promise<void> {
    const { signal } = this.#stopping
    for (let [failures, worked] = [0, true]; !signal.aborted;) {
      try {
        await this.#trusted(signal)
        const taken = signal.aborted ? undefined : await takeBatch(this.#taker())
        failures = 0
        if (taken === undefined) await this.#idle(signal, worked)
        else await this.#run(taken)
        worked = taken !== undefined
      } catch (error) {
        failures += 1
        const waitMs = backoffMs(failures, { baseMs: 200, maxMs: 10_000 }, Math.random())
        const lost = { purpose: 'control', error: errorRecord(error), attempt: failures, waitMs }
        this.#deps.telemetry.emit('connection.lost', lost)
        await sleep(waitMs, signal)
      }
    }
  }

  async #idle(signal: AbortSignal, worked: boolean): Promise<void> {
    const { pollMs } = this.#options
    // Whoever has just worked may have brought an operation to its end; for what others end, one slot looks for all.
    if (worked || performance.now() - this.#settledAtMs >= pollMs) {
      this.#settledAtMs = performance.now()
      // What has ended may have freed a table for another one.
      if (await settleOperations(this.#deps)) return
    }
    if (signal.aborted) return
    const nap = new AbortController()
    this.#naps.add(nap)
    await sleep(pollMs * (0.8 + Math.random() * 0.4), nap.signal)
    this.#naps.delete(nap)
  }

  #wake(): void {
    for (const nap of this.#naps) nap.abort()
  }

  #taker(): Taker {
    const { leaseMs, carveMs } = this.#options
    return { ...this.#deps, workerId: this.id, leaseMs, carveMs, cuts: this.#cuts, belonging: this.#belonging }
  }

  async #run({ operation, batch }: Taken): Promise<void> {
    const held = this.#leases.hold({ batchId: batch.id, nonce: batch.nonce })
    const definition = this.#deps.registry.find(operation.name)
    const governor = this.#deps.governor.govern(governed(operation, definition))
    try {
      await runBatch({
        ...this.#deps,
        operation,
        batch,
        held,
        governor,
        definition,
        walk: walkOf(operation),
        leaseMs: this.#options.leaseMs,
        stopping: this.#stopping.signal,
        ending: this.#ending.signal,
        outcomes: this.#outcomesOf(operation.id),
        sizes: this.#sizes,
        cuts: this.#cuts,
        trusted: (signal) => this.#trusted(signal),
      })
    } finally {
      governor.end()
      held.drop()
    }
  }

  /** The recent past of an operation; forgotten when it trips, so that a resumed one begins anew. */
  #outcomesOf(id: string): BatchRun['outcomes'] {
    const add = (outcome: string): string | undefined => {
      const outcomes = remember(this.#outcomes.get(id) ?? [], outcome)
      const reason = tripReason(outcomes)
      this.#outcomes.set(id, reason === undefined ? outcomes : [])
      return reason
    }
    return { ok: () => void add('ok'), isolated: add }
  }

  /** Waits while no renewal has succeeded lately: others may be about to take over what this process holds. */
  async #trusted(signal: AbortSignal): Promise<void> {
    if (this.#leases.trusted()) return
    this.#deps.telemetry.emit('worker.untrusted', { workerId: this.id, sinceMs: this.#leases.sinceRenewalMs() })
    while (!this.#leases.trusted() && !signal.aborted) await sleep(50, signal)
  }

  /** Ends a worker that cannot work for long: whatever starts it anew may lead it to where the database is now. */
  #watchTrust(): NodeJS.Timeout | undefined {
    const { giveUpMs } = this.#options
    if (giveUpMs === undefined) return undefined
    const everyMs = Math.min(1_000, giveUpMs / 4)
    let untrustedMs = 0
    const look = (): void => {
      // Counted by turns of this timer: a process that was paused has not tried for that long.
      untrustedMs = this.#leases.trusted() ? 0 : untrustedMs + everyMs
      if (untrustedMs >= giveUpMs) this.#die(new Error(`none has succeeded for ${Math.round(giveUpMs / 1_000)} s`))
    }
    return setInterval(look, everyMs).unref()
  }

  #die(error: Error): void {
    this.#deps.telemetry.emit('warning', { message: `Leases are not renewed any more: ${error.message}. Stopping.` })
    void this.stop()
  }
}
