import { parseDuration, type Duration } from '../std/duration.ts'
import type { Database } from '../store/database.ts'
import type { ContextTools } from './context.ts'
import type { JobDefinition, JobRegistry } from './definition.ts'
import { drain, type DrainedJob, type DrainOptions } from './drain.ts'
import type { JobQueue } from './queue.ts'
import { rehearse, type Rehearsal, type RehearsalOptions } from './rehearsal.ts'

export type { DrainedJob, DrainOptions } from './drain.ts'
export type { JobEnding, Rehearsal, RehearsalOptions, RehearsedJob } from './rehearsal.ts'

interface Deps extends ContextTools {
  database: () => Promise<Database>
  queue: JobQueue
  registry: JobRegistry
  /** What a store of jobs can do for tests. */
  store: {
    passTime(ms: number): Promise<void>
    /** Gives the number of those that were unfinished. */
    wipe(): Promise<number>
  }
}

/** What tests of jobs need and nobody else should have: the way of `sluice/testing` into the engine. */
export class JobBench {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Runs one attempt of a job without the queue. */
  async rehearse(definition: JobDefinition, request: { args: unknown; options: RehearsalOptions }): Promise<Rehearsal> {
    return rehearse(definition, { args: request.args, ...request.options }, this.#deps)
  }

  /** Runs what is due in this process. */
  async drain(options: DrainOptions): Promise<DrainedJob[]> {
    return drain({ ...this.#deps, db: (await this.#deps.database()).work }, options)
  }

  /** Brings everything that waits for a moment so much nearer. */
  async passTime(duration: Duration): Promise<void> {
    const ms = parseDuration(duration)
    if (ms === undefined) throw new TypeError(`travel takes a time such as "31m", not ${JSON.stringify(duration)}`)
    await this.#deps.store.passTime(ms)
  }

  /** Deletes all jobs, with all that belongs to them; gives the number of those that were unfinished. */
  async wipe(): Promise<number> {
    return this.#deps.store.wipe()
  }
}
