import type { Database } from '../database.ts'
import { statement } from '../statement.ts'

/** What tests need of the store of jobs and nobody else should have. */
export class QueueForTests {
  readonly #database: () => Promise<Database>

  constructor(database: () => Promise<Database>) {
    this.#database = database
  }

  /** Lets time pass for jobs. */
  async passTime(ms: number): Promise<void> {
    await passTime((await this.#database()).control, { ms })
  }

  /** Deletes all jobs, with all that belongs to them; gives the number of those that were unfinished. */
  async wipe(): Promise<number> {
    const [wiped] = await wipe((await this.#database()).control)
    return wiped?.jobs ?? 0
  }
}

/** Lets time pass for jobs: what waits for a moment, and keys that are free after one, come nearer by so much. */
const passTime = statement<{ ms: number }, { jobs: number }>(
  'job.passTime',
  `with jobs as (
     update sluice.job
     set run_at = run_at - $1 * interval '1 millisecond', enqueued_at = enqueued_at - $1 * interval '1 millisecond'
     where claim_id is null and not exists (select from sluice.job_claim k where k.job_ids @> job.id)
     returning id
   ), locks as (
     update sluice.job_lock
     set expires_at = expires_at - $1 * interval '1 millisecond'
   ), queues as (
     update sluice.queue
     set tokens_at = tokens_at - $1 * interval '1 millisecond'
   )
   select count(*)::int as jobs
   from jobs`,
  ({ ms }) => [ms],
)

/** Deletes all jobs that have not succeeded, with their claims and unique keys. Nothing tells that they were there. */
const wipe = statement<void, { jobs: number }>(
  'job.wipe',
  `with jobs as (
     delete from sluice.job
     returning id
   ), dead as (
     delete from sluice.job_dead
   ), claims as (
     delete from sluice.job_claim
   ), locks as (
     delete from sluice.job_lock
   ), cancels as (
     delete from sluice.job_cancel
   ), batches as (
     delete from sluice.job_batch
   ), additions as (
     delete from sluice.job_batch_addition
   ), callbacks as (
     delete from sluice.job_batch_callback
   )
   select count(*)::int as jobs
   from jobs`,
  () => [],
)
