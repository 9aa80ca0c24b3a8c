/**
 * # sluice/testing
 *
 * Tools for your own tests of jobs and schedules, with any test runner, on a real PostgreSQL; and the governor's policy
 * on signals that never were, with no database at all.
 *
 * ```ts
 * const sluice = new Sluice({ database: process.env.TEST_DATABASE_URL, jobs: [sendWelcome] })
 * const jobs = testJobs(sluice)
 *
 * test('a new user is welcomed', async () => {
 *   await signUp({ name: 'Ada' })
 *   await jobs.assertEnqueued(sendWelcome, { userId: 1 })
 *   await jobs.drain()
 *   expect(mailbox).toHaveLength(1)
 * })
 * ```
 *
 * **The model.** `run` makes one attempt of a job and leaves the queue alone; `drain` makes all that are due, as a
 * worker does. Both decide by the same policy as a worker, but without jitter, so that a test knows how long a wait is.
 *
 * **The clock** is the database's, in tests as in production. `clock.travel` does not change it: it brings everything
 * that waits for a moment nearer by that much, which comes to the same. Code of yours that looks at a clock sees no
 * difference.
 *
 * **The database** is one for tests: "test" is a word of its name, or its setting `sluice.for_tests` is on. Any other is
 * refused, and so is production.
 *
 * Let no worker run beside these tools, and give each test file that runs at the same time a database of its own.
 *
 * @module
 */
export { testJobs, type TestJobs } from './test-jobs.ts'
export {
  simulateGovernor,
  type SimulatedSize,
  type SimulatedWork,
  type Simulation,
  type TracePoint,
} from '../governor/simulator.ts'
export { plotTrace } from '../governor/plot.ts'
export { testSchedules, type TestSchedules } from './test-schedules.ts'
export type { DrainedJob, DrainOptions, JobEnding, Rehearsal, RehearsalOptions, RehearsedJob } from '../jobs/bench.ts'
