import { inspectable } from '../std/error-record.ts'
import { scrub, secretsAt } from '../std/mask.ts'
import type { Database } from '../store/database.ts'
import { endingAfter, endingOf, misfit, unwanted, type Attempt } from './attempt.ts'
import { Context, type ContextTools } from './context.ts'
import type { BoundJob } from './definition.ts'
import type { Ending } from './endings.ts'
import { JobOutcome } from './outcomes.ts'
import { mostTransactions, Slots } from './slots.ts'
import { JobLost, runInTransaction } from './transactional.ts'

/** How an attempt came out: an ending to write down, one that its own transaction has written, or nothing of ours. */
export type Result = Ending | { kind: 'written'; ending: Ending; admitted: number } | { kind: 'lost' }

interface Deps extends ContextTools {
  database: Database
  workerId: string
  onEnd: (attempt: Attempt, result: Result) => void
  /** From 0 to 1, for the jitter of waits. */
  random?: () => number
}

/** How long a handler has to react to its signal before it is left behind. */
const graceMs = 500

/**
 * Runs handlers, and leaves one that was told to stop and does not. What that one does later is fenced: it cannot end
 * the job any more. An ordinary handler costs one promise, its own.
 */
export class Runner {
  /** A job may be here twice: one whose claim is lost, while it does not know that yet, and one that is claimed. */
  readonly running = new Set<Attempt>()
  readonly #deps: Deps
  readonly #transactions = new Slots(mostTransactions)

  constructor(deps: Deps) {
    this.#deps = { ...deps, db: deps.database.work }
  }

  /** Begins an attempt; its result comes to `onEnd`, once. */
  begin(attempt: Attempt): void {
    const { job, definition, stop } = attempt
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
      const { ending, admitted } = await this.#connected(attempt, () =>
        runInTransaction(this.#deps, attempt, async (tx) =>
          heeding(bound.perform(new Context(attempt, this.#deps, { tx, effect }))),
        ),
      )
      this.#end(attempt, { kind: 'written', ending, admitted })
    } catch (error) {
      this.#fail(attempt, error)
    }
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
    this.#deps.onEnd(attempt, discreet(attempt, result))
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
