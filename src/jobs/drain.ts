import type { Json } from '../std/json.ts'
import { uuidv7 } from '../std/uuid.ts'
import type { Database } from '../store/database.ts'
import { admitWaiting } from '../store/jobs/rescue.ts'
import { Attempt, released } from './attempt.ts'
import { Claims } from './claims.ts'
import type { ContextTools } from './context.ts'
import type { JobRegistry } from './definition.ts'
import { writeEndings, type Ending } from './endings.ts'
import { reportBatches } from './members.ts'
import { endingView, noJitter, type JobEnding } from './rehearsal.ts'
import { reportEnding } from './report.ts'
import { Runner, type Result } from './runner.ts'
import { watchClaims, watchTime } from './watch.ts'
import { tracedBy } from './trace.ts'

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
  database: Database
  registry: JobRegistry
}

const mostAttempts = 10_000

/** Runs jobs that are due, one after the other, until there is none: as a worker does, but without one. */
export async function drain(deps: Deps, { limit, until }: DrainOptions): Promise<DrainedJob[]> {
  const bench = new Bench(deps)
  const watch = new AbortController()
  const { control } = deps.database
  const watching = Promise.all([
    watchTime(bench.running, watch.signal),
    watchClaims(bench.running, { control, signal: watch.signal }),
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
  readonly #workerId = uuidv7()
  readonly #ends = new Map<Attempt, (result: Result) => void>()
  /** How many jobs of a claim are not written down yet. */
  readonly #open = new Map<string, number>()
  readonly #runner: Runner

  constructor(deps: Deps) {
    this.#deps = deps
    const onEnd = (attempt: Attempt, result: Result): void => this.#ends.get(attempt)?.(result)
    this.#runner = new Runner({ ...deps, workerId: this.#workerId, onEnd, random: () => noJitter })
  }

  get running(): ReadonlySet<Attempt> {
    return this.#runner.running
  }

  /** The next job, seldom two. */
  async take(): Promise<Attempt[]> {
    let after: string | null = null
    do after = (await admitWaiting(this.#deps.database.control, { after })).next
    while (after !== null)
    // It remembers nothing from the last time, so that it overlooks nothing.
    const claims = new Claims({ ...this.#deps, weights: undefined })
    await claims.open()
    const taken: Attempt[] = []
    const now = Date.now()
    const order = { workerId: this.#workerId, limit: 1, free: 1, suspects: 1, hinted: true }
    await claims.take(order, ({ claimId, jobs, clockMs }) => {
      this.#open.set(claimId, jobs.length)
      for (const job of jobs) {
        const definition = claims.definitionOf(job)
        taken.push(new Attempt(job, { claimId, definition, queue: job.queue, now, clockMs }))
      }
    })
    return taken
  }

  async run(attempt: Attempt): Promise<DrainedJob> {
    const { job, definition, queue, waitMs } = attempt
    const { id, args, attempt: number } = job
    const { name } = definition
    this.#deps.telemetry.emit('job.started', { jobId: id, name, queue, attempt: number, waitMs, ...tracedBy(job) })
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
    const { telemetry } = this.#deps
    const ending = result.kind === 'written' ? result.ending : result.kind === 'lost' ? undefined : result
    const kept = await this.#write(attempt, ending === undefined || result.kind === 'written' ? [] : [ending])
    if (ending === undefined || !(kept || result.kind === 'written')) {
      telemetry.emit('job.lost', { jobId: attempt.job.id, name: attempt.definition.name })
      return { kind: 'lost' }
    }
    reportEnding(telemetry, attempt, ending)
    return endingView(ending)
  }

  /** Writes endings down; the last one of a claim takes it along. */
  async #write({ claimId }: Attempt, endings: Ending[]): Promise<boolean> {
    const left = (this.#open.get(claimId) ?? 1) - 1
    this.#open.set(claimId, left)
    const order = { endings, emptyClaims: left === 0 ? [claimId] : [], workerId: this.#workerId }
    const { database, telemetry } = this.#deps
    const { ids, news } = await database.control.transaction((transaction) => writeEndings(transaction, order))
    reportBatches(telemetry, news)
    return ids.length > 0
  }
}
