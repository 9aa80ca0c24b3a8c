import type { Duration, EnqueueArgs, JobDefinition, JobStatus, Sluice } from '../index.ts'
import type { DrainedJob, DrainOptions, Rehearsal, RehearsalOptions } from '../jobs/bench.ts'
import { failure, hasArgs } from './assertion.ts'

/** Tools for tests of jobs; see {@link testJobs}. */
export class TestJobs {
  readonly #sluice: Sluice

  /** Time, as jobs see it. */
  readonly clock: {
    /** Lets so much time pass: what is scheduled within it is due, unique keys and rates are as they would be then. */
    travel: (duration: Duration) => Promise<void>
  }

  constructor(sluice: Sluice) {
    this.#sluice = sluice
    this.clock = { travel: (duration) => sluice.jobBench.passTime(duration) }
  }

  /**
   * Runs one attempt of a job, here and now, and tells how it ended and what it enqueued. Nothing of it is recorded.
   * A transactional job gets a transaction, which is committed if it ends well.
   */
  async run<Input>(
    definition: JobDefinition<Input>,
    ...[args, options = {}]: EnqueueArgs<Input, RehearsalOptions>
  ): Promise<Rehearsal> {
    return this.#sluice.jobBench.rehearse(definition, { args, options })
  }

  /**
   * Runs all jobs that are due, one after the other, also those that they enqueue, and gives all attempts. Jobs that
   * wait for a later moment, in a paused queue, or under a name that this process does not know, stay.
   */
  async drain(options: DrainOptions = {}): Promise<DrainedJob[]> {
    return this.#sluice.jobBench.drain(options)
  }

  /** The unfinished jobs, of one kind or all, in the order in which they were enqueued. */
  async enqueued(definition?: JobDefinition): Promise<JobStatus[]> {
    const query = { limit: 1_000, ...(definition === undefined ? {} : { name: definition.name }) }
    const found: JobStatus[] = []
    for (let before: number | null | undefined; before !== null;) {
      const page = await this.#sluice.jobs.list({ ...query, ...(before === undefined ? {} : { before }) })
      found.push(...page.jobs)
      before = page.next
    }
    return found.toReversed()
  }

  /** Fails unless such a job is enqueued: with exactly these args, or with any when none are given. */
  async assertEnqueued<Input>(definition: JobDefinition<Input>, args?: Input): Promise<void> {
    const jobs = await this.enqueued()
    if (jobs.some((job) => job.name === definition.name && hasArgs(job, args))) return
    throw failure({ wanted: definition.name, args, jobs })
  }

  /** Fails if such a job is enqueued: with exactly these args, or with any when none are given. */
  async assertNotEnqueued<Input>(definition: JobDefinition<Input>, args?: Input): Promise<void> {
    const jobs = (await this.enqueued(definition)).filter((job) => hasArgs(job, args))
    if (jobs.length > 0) throw failure({ unwanted: definition.name, args, jobs })
  }

  /**
   * Deletes the whole queue: all unfinished jobs, all that ended without success, and all unique keys. What succeeded
   * stays in history. Gives the number of unfinished jobs that are gone.
   *
   * Before a test it makes room. In a test it plays the worst that can happen to a queue, to see whether your
   * application heals; the example `self-healing-databases` shows how.
   */
  async clear(): Promise<number> {
    return this.#sluice.jobBench.wipe()
  }
}

/**
 * Tools for tests of the jobs of an application. Give it a `Sluice` that knows the jobs and is not started,
 * on a database for tests; any other is refused.
 *
 * @example
 * ```ts
 * const jobs = testJobs(new Sluice({ database: process.env.TEST_DATABASE_URL, jobs: [deleteOldData] }))
 *
 * test('requeues if there is more to delete', async () => {
 *   const { ending, enqueued } = await jobs.run(deleteOldData, { limit: 1 })
 *   expect(ending).toEqual({ kind: 'succeeded' })
 *   expect(enqueued).toMatchObject([{ name: 'delete-old-data' }])
 * })
 * ```
 */
export function testJobs(sluice: Sluice): TestJobs {
  return new TestJobs(sluice)
}
