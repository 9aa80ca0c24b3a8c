import { inspectable } from '../std/error-record.ts'
import { Condition } from '../std/condition.ts'
import { Fifo } from '../std/fifo.ts'
import { scrub, secretsAt } from '../std/mask.ts'
import { Slots } from '../std/slots.ts'
import { endingAfter, endingOf, misfit, serverTimeOf, unwanted, type Attempt } from './attempt.ts'
import { Context, type ContextTools } from './context.ts'
import type { BoundJob } from './definition.ts'
import { JobLost, type Ending } from './ending.ts'
import { JobOutcome } from './policy.ts'
import type { CallersTransaction, JobQueue, QueueWorker } from './queue.ts'
import { tracedBy } from './trace.ts'

/** How an attempt came out: an ending to write down, one that its own transaction has written, or nothing of ours. */
export type Result = Ending | { kind: 'written'; ending: Ending } | { kind: 'lost' }

interface Deps extends ContextTools {
  queue: JobQueue
  worker: QueueWorker
  /** How many attempts run at once. */
  concurrency: number
  /** No attempt begins after it has aborted. */
  stopping?: AbortSignal
  /** Where the result of each attempt goes, once. */
  next: { end(attempt: Attempt, result: Result): void }
  /** From 0 to 1, for the jitter of waits. */
  random?: () => number
}

/** So many transactional jobs run at once in a process, whatever its concurrency: each has a connection to itself. */
export const mostTransactions = 20
/** How long a handler has to react to its signal before it is left behind. */
const graceMs = 500

/**
 * Runs handlers, and leaves one that was told to stop and does not. What that one does later is fenced: it cannot end
 * the job any more. An ordinary handler costs one promise, its own.
 */
export class Runner {
  /** A job may be here twice: one whose claim is lost, while it does not know that yet, and one that is claimed. */
  readonly running = new Set<Attempt>()
  /** Notified when an attempt has ended. */
  readonly room = new Condition()
  readonly #deps: Deps
  readonly #waiting = new Fifo<Attempt>()
  readonly #transactions = new Slots(mostTransactions)
  #filling = false
  #runMs = 0

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Whether a new job could begin at once. */
  get idle(): boolean {
    return this.#waiting.length === 0 && this.running.size < this.#deps.concurrency
  }

  /** How many new jobs could begin at once. */
  get free(): number {
    return Math.max(0, this.#deps.concurrency - this.running.size - this.#waiting.length)
  }

  /** How many jobs to claim now; 0 while enough are at hand. */
  get wanted(): number {
    const { concurrency } = this.#deps
    const prefetch = prefetchOf({ concurrency, runMs: this.#runMs })
    if (this.#waiting.length > prefetch / 2) return 0
    return Math.max(0, concurrency + prefetch - this.running.size - this.#waiting.length)
  }

  /** Lets an attempt wait for its turn. */
  add(attempt: Attempt): void {
    // What may have killed a worker begins at once, or it would be blamed for what it did not see.
    if (attempt.job.crashes > 0) this.#waiting.pushFirst(attempt)
    else this.#waiting.push(attempt)
  }

  /** Begins attempts as long as there is room. */
  fill(): void {
    const { concurrency, stopping } = this.#deps
    if (stopping?.aborted === true) return
    while (this.running.size < concurrency) {
      const attempt = this.#waiting.shift()
      if (attempt === undefined) return
      this.begin(attempt)
    }
  }

  /** Gives what waits, and forgets it. */
  clear(): Attempt[] {
    return this.#waiting.clear()
  }

  /** Begins an attempt, whether there is room or not. */
  begin(attempt: Attempt): void {
    const { job, definition, stop, queue, waitMs } = attempt
    const started = { jobId: job.id, name: definition.name, queue, attempt: job.attempt, waitMs }
    this.#deps.telemetry.emit('job.started', { ...started, ...tracedBy(job) })
    attempt.since = performance.now()
    this.running.add(attempt)
    const ending = unwanted(attempt)
    if (ending !== undefined) return this.#end(attempt, ending)
    stop.whenStopped((reason) => {
      setTimeout(() => this.#fail(attempt, reason), graceMs).unref()
    })
    try {
      const bound = definition.bind(job.args)
      if (bound instanceof Promise)
        bound.then((ready) => this.#perform(attempt, ready)).catch((e) => this.#misfit(attempt, e))
      else this.#perform(attempt, bound)
    } catch (error) {
      this.#misfit(attempt, error)
    }
  }

  #perform(attempt: Attempt, bound: BoundJob): void {
    if (attempt.definition.transaction) return void this.#performIn(attempt, bound)
    try {
      const returned = bound.perform(new Context(attempt, this.#deps))
      if (isThenable(returned)) {
        returned.then(
          (value) => this.#end(attempt, endingOf(value, attempt, elapsed(attempt))),
          (error: unknown) => this.#fail(attempt, error),
        )
      } else this.#end(attempt, endingOf(returned, attempt, elapsed(attempt)))
    } catch (error) {
      this.#fail(attempt, error)
    }
  }

  async #performIn(attempt: Attempt, bound: BoundJob): Promise<void> {
    const { stop } = attempt
    const left = new Promise<never>((_, reject) => {
      stop.whenStopped((reason) => setTimeout(() => reject(reason), graceMs).unref())
    })
    // A handler that throws before it returns a promise leaves nobody to hear this.
    left.catch(() => undefined)
    const heeding = async (work: unknown): Promise<unknown> => {
      const returned = await Promise.race([work, left])
      // Told to stop, it must not commit.
      if (stop.reason !== undefined) throw stop.reason
      return returned
    }
    try {
      const effect = bound.hasEffect ? await heeding(bound.effect(new Context(attempt, this.#deps))) : undefined
      if (effect instanceof JobOutcome) return this.#end(attempt, endingOf(effect, attempt, elapsed(attempt)))
      const ending = await this.#connected(attempt, () =>
        this.#transact(attempt, async (tx) => heeding(bound.perform(new Context(attempt, this.#deps, { tx, effect })))),
      )
      this.#end(attempt, { kind: 'written', ending })
    } catch (error) {
      this.#fail(attempt, error)
    }
  }

  /** Runs work in the transaction in which its job ends, and gives the ending that was committed. */
  async #transact(attempt: Attempt, work: (tx: CallersTransaction) => Promise<unknown>): Promise<Ending> {
    const { queue, worker } = this.#deps
    const { job, claimId, definition } = attempt
    const began = performance.now()
    const ending = (returned: unknown): Ending => endingOf(returned, attempt, Math.round(performance.now() - began))
    const claim = { id: job.id, claimId, name: definition.name, sinceMs: serverTimeOf(attempt, began) }
    const committed = await queue.transact(worker, claim, async (tx) => ending(await work(tx)))
    return committed ?? ending(undefined)
  }

  /** Waits here for one of our connections: the pool would take a long wait for a database that does not answer. */
  async #connected<T>(attempt: Attempt, work: () => Promise<T>): Promise<T> {
    const began = performance.now()
    attempt.waiting = true
    await this.#transactions.take()
    try {
      attempt.waiting = false
      attempt.since += performance.now() - began
      if (attempt.stop.reason !== undefined) throw attempt.stop.reason
      return await work()
    } finally {
      this.#transactions.give()
    }
  }

  /** What is thrown after a stop is the handler's way to stop. */
  #fail(attempt: Attempt, error: unknown): void {
    const thrown = attempt.stop.reason ?? inspectable(error)
    if (thrown instanceof JobLost) return this.#end(attempt, { kind: 'lost' })
    this.#end(attempt, endingAfter(thrown, attempt, elapsed(attempt), (this.#deps.random ?? Math.random)()))
  }

  #misfit(attempt: Attempt, error: unknown): void {
    this.#end(attempt, misfit(attempt, error))
  }

  #end(attempt: Attempt, result: Result): void {
    if (attempt.ended) return
    attempt.ended = true
    this.running.delete(attempt)
    this.#runMs = averageOf(this.#runMs, performance.now() - attempt.since)
    this.#deps.next.end(attempt, discreet(attempt, result))
    // What comes back from the dead comes only where it can begin at once.
    if (attempt.job.crashes > 0) this.#deps.worker.hint.notify()
    this.#refill()
  }

  /** Fills the free slots, once for all that end in the same turn of the event loop. */
  #refill(): void {
    if (this.#filling) return
    this.#filling = true
    queueMicrotask(() => {
      this.#filling = false
      this.fill()
      this.room.notify()
    })
  }
}

/** What people read in an ending. The rest is for the database: an id that looks like a secret must stay what it is. */
const said = ['left', 'reason', 'error'] as const

/** All that is said of an attempt passes here, to be stored or told: what its definition keeps secret is masked. */
function discreet({ job, definition }: Attempt, result: Result): Result {
  if (definition.redact.length === 0 || result.kind === 'lost') return result
  const secrets = secretsAt(job.args, definition.redact)
  const masked = (ending: Ending): Ending => {
    const texts = Object.entries(ending).filter(([key]) => said.some((one) => one === key))
    return { ...ending, ...scrub(Object.fromEntries(texts), secrets) }
  }
  return result.kind === 'written' ? { ...result, ending: masked(result.ending) } : masked(result)
}

function elapsed({ since }: Attempt): number {
  return Math.round(performance.now() - since)
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

/**
 * How many jobs beyond the running ones a process may hold. Quick jobs are worth fetching ahead, because the round trip
 * takes longer than the work; slow ones would only wait here while another process is idle.
 */
function prefetchOf({ concurrency, runMs }: { concurrency: number; runMs: number }): number {
  if (runMs > 50) return 0
  return runMs > 5 ? concurrency : Math.min(2_000, Math.max(100, concurrency * 5))
}

/** The average over the last jobs, the newest of which count most. */
function averageOf(before: number, runMs: number): number {
  return before + (runMs - before) * 0.02
}
