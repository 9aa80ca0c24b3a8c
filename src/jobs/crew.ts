/**
 * Jobs: how a process works on them.
 *
 * The model. A job is a row of the live table. A process claims many at once under one nonce, runs their handlers, and
 * writes their ends down, many at once. What ends leaves the live table in that statement.
 *
 * The invariants. A claim is the nonce in the job's row: whoever does not have it changes nothing. A job that is
 * claimed is in a claim row of its worker, so it can be freed when that worker goes silent. Unique keys are freed in
 * the statement that starts or ends their job, and what waits behind a concurrency key is let in by the transaction
 * that made room. Hints (LISTEN, a wake-up from this process) only save time: polling finds everything.
 *
 * On a crash the worker's sign of life stops, any other worker frees its jobs, and they run again. Which of them was
 * its death is not known. They come back only where they can begin at once; those that were there when a second worker
 * died are suspect, and a process runs one of these at a time: so a job that kills its workers is found and isolated,
 * and not its neighbours.
 */
import type { Crew, Shift } from '../runtime/crew.ts'
import { backoffMs } from '../std/backoff.ts'
import { errorRecord } from '../std/error-record.ts'
import { sleep, ticks } from '../std/sleep.ts'
import type { StoreConnection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import { Attempt, released, WorkerStopping } from './attempt.ts'
import { Bell } from './bell.ts'
import { keepJobs } from './chores.ts'
import { Claims, isSuspect, type Claimed, type Weights } from './claims.ts'
import { Completer } from './completer.ts'
import type { ContextTools } from './context.ts'
import type { JobRegistry } from './definition.ts'
import type { Ending } from './endings.ts'
import { Fifo } from './fifo.ts'
import { HintWindow } from './hints.ts'
import { listenForJobs } from './listener.ts'
import { averageOf, prefetchOf } from './prefetch.ts'
import { reportEnding } from './report.ts'
import { Runner, type Result } from './runner.ts'
import { watchClaims, watchTime } from './watch.ts'
import { tracedBy } from './trace.ts'

/** How a process works on jobs. */
export interface JobOptions {
  /** Jobs at once. */
  concurrency: number
  /** Wait between looks for work when there was none and nobody gave a hint. */
  pollMs: number
  queues: Weights
  keepDays: number
  keepDeadDays: number
}

interface Deps extends ContextTools {
  database: Database
  registry: JobRegistry
}

/** Runs jobs in this process until the shift ends. */
export class JobCrew implements Crew {
  readonly #options: JobOptions
  readonly #deps: Deps
  readonly #claims: Claims
  #runner: Runner | undefined
  #completer: Completer | undefined
  readonly #buffer = new Fifo<Attempt>()
  /** Jobs at hand on which more than one worker has died. */
  #suspects = 0
  #filling = false
  #stopping: AbortSignal | undefined
  #runMs = 0
  #hinted = false
  /** The look that comes next follows a hint that other workers got, too. */
  #contested = false
  readonly #hints = new HintWindow(() => {
    this.#contested = true
    this.wake()
  })
  readonly #hint = new Bell()
  readonly #room = new Bell()

  constructor(options: JobOptions, deps: Deps) {
    this.#options = options
    this.#deps = deps
    this.#claims = new Claims({ ...deps, weights: options.queues })
  }

  /** Says that there may be something to do. */
  wake(): void {
    this.#hinted = true
    this.#hint.ring()
  }

  /** Whether a new job could begin at once. */
  get idle(): boolean {
    return this.#buffer.length === 0 && (this.#runner?.running.size ?? 0) < this.#options.concurrency
  }

  async work(shift: Shift): Promise<void> {
    const { database, telemetry } = this.#deps
    const wake = (): void => this.wake()
    this.#stopping = shift.stopping
    const { workerId } = shift
    const onSettled = (attempt: Attempt, ending: Ending, kept: boolean): void => this.#settled(attempt, ending, kept)
    this.#completer = new Completer({ database, telemetry, workerId, onAdmitted: wake, onSettled })
    const onEnd = (attempt: Attempt, result: Result): void => this.#ended(attempt, result)
    const { running } = (this.#runner = new Runner({ ...this.#deps, workerId, onEnd }))
    shift.ending.addEventListener('abort', () => this.#endRunning())
    const { stopping: signal, leaseMs } = shift
    // Handlers are watched until the last one has ended, which may be long after the shift stops.
    const over = new AbortController()
    const watching = Promise.all([
      watchTime(running, over.signal),
      watchClaims(running, { control: database.control, signal: over.signal }),
    ])
    // Claims go out on the connection that listens, so it goes after the last of them.
    const deaf = new AbortController()
    const onOpen = (connection: StoreConnection | undefined): void => {
      this.#claims.speakOn(connection)
      // Something may have come while nobody listened.
      if (connection !== undefined) this.wake()
    }
    const onHint = (payload: string): void => this.#hints.hear(payload, this.#claims)
    const ear = { database: database.options, telemetry, signal: deaf.signal, onOpen, onHint }
    await Promise.all([
      this.#claimLoop(shift).finally(() => deaf.abort()),
      keepJobs({ database, telemetry, leaseMs, ...this.#options, signal, wake }),
      this.#returnStrays(shift),
      database.pooled ? undefined : listenForJobs(ear),
    ])
    this.#giveBack()
    while (running.size > 0) await this.#room.heard(1_000)
    over.abort()
    await watching
    await this.#completer.drained(AbortSignal.timeout(10_000))
  }

  async #claimLoop(shift: Shift): Promise<void> {
    const { stopping } = shift
    stopping.addEventListener('abort', () => {
      this.#hint.ring()
      this.#room.ring()
    })
    for (let failures = 0; !stopping.aborted;) {
      try {
        await shift.trusted(stopping)
        await this.#claims.open()
        const limit = this.#wanted()
        // Endings that wait to be written make room, too, and do not ring.
        if (limit === 0) await this.#room.heard(100)
        // A stop that came meanwhile rang when nobody listened.
        else if (!(await this.#take(shift, limit)) && !this.#hinted && !stopping.aborted)
          await this.#hint.heard(jittered(this.#options.pollMs))
        failures = 0
      } catch (error) {
        failures += 1
        const waitMs = backoffMs(failures, { baseMs: 200, maxMs: 10_000 }, Math.random())
        this.#deps.telemetry.emit('connection.lost', {
          purpose: 'jobs',
          error: errorRecord(error),
          attempt: failures,
          waitMs,
        })
        await sleep(waitMs, stopping)
      }
    }
  }

  /** The net under all that is claimed: every lease, what is claimed in our name and unknown here goes back. */
  async #returnStrays({ workerId, leaseMs, stopping }: Shift): Promise<void> {
    const { telemetry } = this.#deps
    for await (const _ of ticks(leaseMs, stopping)) {
      try {
        const returned = await this.#claims.giveBackStrays(workerId, (id) => this.#completer?.holds(id) ?? false)
        if (returned === 0) continue
        const message = `Gave back ${returned} jobs that were claimed for this worker and had not reached it.`
        telemetry.emit('warning', { message })
        this.wake()
      } catch (error) {
        // The next tick asks again; the loop that claims reports what the database says.
        telemetry.emit('warning', { message: `Looking for stray claims failed: ${errorRecord(error).message}` })
      }
    }
  }

  /** How many jobs to claim now; 0 while enough are at hand. */
  #wanted(): number {
    const { concurrency } = this.#options
    const prefetch = prefetchOf({ concurrency, runMs: this.#runMs })
    const unwritten = this.#completer?.backlog ?? 0
    if (this.#buffer.length > prefetch / 2 || unwritten > 10_000) return 0
    return Math.max(0, concurrency + prefetch - (this.#runner?.running.size ?? 0) - this.#buffer.length)
  }

  /** Claims; true when there may be more. */
  async #take({ workerId }: Shift, limit: number): Promise<boolean> {
    const hinted = this.#hinted
    const contested = this.#contested ? this.#hints.last : undefined
    this.#hinted = this.#contested = false
    const free = Math.max(0, this.#options.concurrency - (this.#runner?.running.size ?? 0) - this.#buffer.length)
    const order = { workerId, limit, free, suspects: this.#suspects > 0 ? 0 : 1, hinted }
    const began = performance.now()
    const { count, left } = await this.#claims.take(order, (claimed) => {
      this.#receive(claimed)
      this.#dispatch()
    })
    if (contested !== undefined) {
      this.#hints.looked({ found: count > 0, tookMs: performance.now() - began })
      this.#claims.tellOthers(left, contested)
    }
    return count >= Math.max(1, Math.floor(limit / 2)) || this.#hinted
  }

  #receive({ claimId, jobs, clockMs, misplaced }: Claimed): void {
    this.#completer?.opened(claimId, jobs.length)
    const now = Date.now()
    for (const job of jobs) {
      const definition = this.#claims.definitionOf(job)
      const attempt = new Attempt(job, { claimId, definition, queue: job.queue, now, clockMs })
      if (isSuspect(job)) this.#suspects += 1
      if (misplaced.has(job)) {
        this.#completer?.end(attempt, released(attempt))
        continue
      }
      // What may have killed a worker begins at once, or it would be blamed for what it did not see.
      if (job.crashes > 0) this.#buffer.pushFirst(attempt)
      else this.#buffer.push(attempt)
    }
  }

  #dispatch(): void {
    const runner = this.#runner
    if (runner === undefined || this.#stopping?.aborted === true) return
    const { concurrency } = this.#options
    while (runner.running.size < concurrency) {
      const attempt = this.#buffer.shift()
      if (attempt === undefined) return
      const { job, definition, queue, waitMs } = attempt
      const { id: jobId, attempt: number } = job
      this.#deps.telemetry.emit('job.started', {
        jobId,
        name: definition.name,
        queue,
        attempt: number,
        waitMs,
        ...tracedBy(job),
      })
      runner.begin(attempt)
    }
  }

  #ended(attempt: Attempt, result: Result): void {
    this.#runMs = averageOf(this.#runMs, performance.now() - attempt.since)
    if (result.kind === 'written') {
      this.#completer?.left(attempt.claimId)
      if (result.admitted > 0) this.wake()
      this.#settled(attempt, result.ending, true)
    } else if (result.kind === 'lost') {
      this.#completer?.left(attempt.claimId)
      this.#settled(attempt, undefined, false)
    } else this.#completer?.end(attempt, result)
    // What comes back from the dead comes only where it can begin at once.
    if (attempt.job.crashes > 0) this.wake()
    this.#freed()
  }

  /** Fills the free slots, once for all that end in the same turn of the event loop. */
  #freed(): void {
    if (this.#filling) return
    this.#filling = true
    queueMicrotask(() => {
      this.#filling = false
      this.#dispatch()
      this.#room.ring()
    })
  }

  #settled(attempt: Attempt, ending: Ending | undefined, kept: boolean): void {
    const { job, definition } = attempt
    if (kept && ending !== undefined) reportEnding(this.#deps.telemetry, attempt, ending)
    else this.#deps.telemetry.emit('job.lost', { jobId: job.id, name: definition.name })
    if (!isSuspect(job)) return
    // Not before its end is written down: the next suspect could take it along.
    this.#suspects -= 1
    this.wake()
  }

  /** What was claimed and not begun goes back at once. */
  #giveBack(): void {
    for (const attempt of this.#buffer.clear()) this.#completer?.end(attempt, released(attempt))
  }

  #endRunning(): void {
    for (const { stop } of this.#runner?.running ?? []) {
      stop.stop(new WorkerStopping('the worker is stopping'))
    }
  }
}

function jittered(ms: number): number {
  return ms * (0.8 + Math.random() * 0.4)
}
