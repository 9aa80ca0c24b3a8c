import type { Json } from '../std/json.ts'
import { uuidv7 } from '../std/uuid.ts'
import { Condition } from '../std/condition.ts'
import { Attempt, released } from './attempt.ts'
import type { ContextTools } from './context.ts'
import type { JobRegistry } from './definition.ts'
import type { Ending } from './ending.ts'
import type { JobQueue, QueueWorker } from './queue.ts'
import { endingView, noJitter, type JobEnding } from './rehearsal.ts'
import { reportEnding } from './report.ts'
import { Runner, type Result } from './runner.ts'
import { watchClaims, watchTime } from './watch.ts'

/** One attempt that a drain has made. */
export interface DrainedJob {
  id: number
  name: string
  queue: string
  args: Json
  attempt: number
  ending: JobEnding
}

export interface DrainOptions {
  /** Stops after so many attempts. Default: 10,000, and more than that is an error. */
  limit?: number
  /** Stops after the first attempt for which this is true. */
  until?: (job: DrainedJob) => boolean
}

interface Deps extends ContextTools {
  queue: JobQueue
  registry: JobRegistry
}

const mostAttempts = 10_000

/** Runs jobs that are due, one after the other, until there is none: as a worker does, but without one. */
export async function drain(deps: Deps, { limit, until }: DrainOptions): Promise<DrainedJob[]> {
  const bench = new Bench(deps)
  const watch = new AbortController()
  const { queue } = deps
  const watching = Promise.all([
    watchTime(bench.running, watch.signal),
    watchClaims(bench.running, { queue, worker: bench.worker, signal: watch.signal }),
  ])
  const drained: DrainedJob[] = []
  const enough = (): boolean => {
    const last = drained.at(-1)
    return drained.length >= (limit ?? Infinity) || (last !== undefined && until?.(last) === true)
  }
  try {
    while (!enough()) {
      const attempts = await bench.take()
      if (attempts.length === 0) break
      if (limit === undefined && drained.length >= mostAttempts) {
        throw new Error(`There are more than ${mostAttempts} attempts to make. Give a limit, if that is right.`)
      }
      for (const [i, attempt] of attempts.entries()) {
        if (i > 0 && enough()) await bench.giveBack(attempt)
        else drained.push(await bench.run(attempt))
      }
    }
    return drained
  } finally {
    watch.abort()
    await watching
  }
}

/** Where a drain does its work: claims, runs and writes down one job at a time. */
class Bench {
  readonly #deps: Deps
  readonly worker: QueueWorker
  readonly #ends = new Map<Attempt, (result: Result) => void>()
  /** How many jobs of a claim are not written down yet. */
  readonly #open = new Map<string, number>()
  readonly #runner: Runner

  constructor(deps: Deps) {
    this.#deps = deps
    this.worker = this.#newWorker(uuidv7())
    const next = { end: (attempt: Attempt, result: Result) => this.#ends.get(attempt)?.(result) }
    this.#runner = new Runner({ ...deps, worker: this.worker, concurrency: 1, next, random: () => noJitter })
  }

  get running(): ReadonlySet<Attempt> {
    return this.#runner.running
  }

  /** The next job, seldom two. */
  async take(): Promise<Attempt[]> {
    const { queue, registry } = this.#deps
    while ((await queue.maintain(this.worker)).more);
    // The store remembers nothing of this one from the last time, so that it overlooks nothing.
    const fresh = this.#newWorker(this.worker.workerId)
    const taken: Attempt[] = []
    const now = Date.now()
    for await (const { claimId, jobs, clockMs } of queue.claim(fresh, {
      limit: 1,
      free: 1,
      suspects: 1,
      hinted: true,
    })) {
      this.#open.set(claimId, jobs.length)
      for (const job of jobs) {
        const definition = registry.find(job.name)
        taken.push(new Attempt(job, { claimId, definition, queue: job.queue, now, clockMs }))
      }
    }
    return taken
  }

  #newWorker(workerId: string): QueueWorker {
    return { workerId, jobs: this.#deps.registry.definitions, weights: undefined, idle: false, hint: new Condition() }
  }

  async run(attempt: Attempt): Promise<DrainedJob> {
    const { job, definition, queue } = attempt
    const { id, args, attempt: number } = job
    const { name } = definition
    const result = await new Promise<Result>((resolve) => {
      this.#ends.set(attempt, resolve)
      this.#runner.begin(attempt)
    })
    this.#ends.delete(attempt)
    return { id, name, queue, args, attempt: number, ending: await this.#settle(attempt, result) }
  }

  /** Lets go of a job that was claimed and is not to run. */
  async giveBack(attempt: Attempt): Promise<void> {
    await this.#write(attempt, [released(attempt)])
  }

  async #settle(attempt: Attempt, result: Result): Promise<JobEnding> {
    const ending = result.kind === 'written' ? result.ending : result.kind === 'lost' ? undefined : result
    const kept = await this.#write(attempt, ending === undefined || result.kind === 'written' ? [] : [ending])
    const known = kept || result.kind === 'written' ? ending : undefined
    reportEnding(this.#deps.telemetry, attempt, known)
    return known === undefined ? { kind: 'lost' } : endingView(known)
  }

  /** Writes endings down; the last one of a claim takes it along. */
  async #write({ claimId }: Attempt, endings: Ending[]): Promise<boolean> {
    const left = (this.#open.get(claimId) ?? 1) - 1
    this.#open.set(claimId, left)
    const order = { endings, emptyClaims: left === 0 ? [claimId] : [] }
    const settled = await this.#deps.queue.settle(this.worker, order)
    return settled !== 'busy' && settled.kept.length > 0
  }
}
