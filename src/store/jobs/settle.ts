import type { Burial, Completion, JobClaim, Setback } from '../../jobs/ending.ts'
import type { StoreConnection } from '../connection.ts'
import { freeJson } from '../free-text.ts'
import { list, statement } from '../statement.ts'

/**
 * Every change here compares the claim: with the mark in the job's row or, for a new job, with the claim that has it on
 * its list and is still there. The row of a new job does not know of its first attempt.
 */

/** Jobs that have left their claims, and the hashes of the keys that they had. */
export interface Settled {
  ids: number[]
  keys: string[]
  /** The batches of jobs that they were members of, one for each. */
  batches: readonly (number | string)[]
}

/** A job that has left its claim. */
export interface SettledJob {
  id: number
  /** The hash of its key, where it has one. */
  key: string | null
  /** The batch of jobs that it was a member of, when it has ended. */
  batch_id?: number | string | null
  outcome?: string
}

/**
 * Ends jobs that have succeeded: out of the live table, into history, their unique keys free, in one statement. What
 * is not ours any more is not given back. Claims of which nothing is left go, too.
 */
export async function complete(
  connection: StoreConnection,
  order: { done: readonly Completion[]; emptyClaims: readonly string[] },
): Promise<Settled> {
  const [settled] = await completeJobs(connection, order)
  const ids = settled?.ids ?? null
  const batches = settled?.batches ?? []
  return { ids: ids === null ? [] : ids.split(',').map(Number), keys: settled?.keys ?? [], batches }
}

const completeJobs = statement<
  { done: readonly Completion[]; emptyClaims: readonly string[] },
  { ids: string | null; keys: string[] | null; batches: (number | string)[] | null }
>(
  'job.complete',
  `select ids, keys, batches
   from sluice.complete_jobs($1, $2, $3, $4, $5)`,
  ({ done, emptyClaims }) => [
    list(done.map((d) => d.id)),
    list(done.map((d) => d.claimId)),
    list(done.map((d) => d.waitMs)),
    list(done.map((d) => d.runMs)),
    list(emptyClaims),
  ],
  { prepare: true },
)

/** Sends jobs back to wait for their next attempt, with a record of this one. */
export const postpone = statement<{ setbacks: readonly Setback[]; workerId: string }, SettledJob>(
  'job.postpone',
  `with given as materialized (
     select *
     from jsonb_to_recordset($1::text::jsonb) g(id bigint, "claimId" bigint, verdict text, reason text,
       "delayMs" float8, error jsonb, tries jsonb, counts boolean, unrecorded boolean, "runMs" integer)
   ), failed as (
     update sluice.job j
     set claim_id = null, tries = g.tries,
       attempt = case j.state when 0 then 1 else j.attempt end - case when g.counts then 0 else 1 end,
       state = case when g.verdict = 'release' then 4 when j.key_hash is null then 2 else 3 end,
       enqueued_at = coalesce(j.enqueued_at, j.run_at),
       run_at = clock_timestamp() + g."delayMs" * interval '1 millisecond'
     from given g
     where j.id = g.id and (j.claim_id = g."claimId"
       or (j.state = 0 and exists (select from sluice.job_claim c where c.id = g."claimId")))
     returning j.id, j.run_at, j.key_hash, j.attempt + case when g.counts then 0 else 1 end as attempt
   ), attempts as (
     insert into sluice.job_attempt (job_id, next_at, worker_id, run_ms, attempt, verdict, reason, error)
     select f.id, f.run_at, $2, g."runMs", f.attempt, g.verdict, g.reason, g.error
     from failed f
     join given g on g.id = f.id
     where g.verdict <> 'release' and g.unrecorded is not true
   )
   select id, key_hash::text as key
   from failed`,
  ({ setbacks, workerId }) => [freeJson(setbacks), workerId],
)

/** Ends jobs that will not be tried again: out of the live table, kept with all they had, their unique keys free. */
export const bury = statement<{ burials: readonly Burial[]; workerId: string }, SettledJob>(
  'job.bury',
  `with given as materialized (
     select *
     from jsonb_to_recordset($1::text::jsonb) g(id bigint, "claimId" bigint, outcome text, reason text, error jsonb,
       "runMs" integer)
   ), gone as (
     delete from sluice.job j
     using given g
     where j.id = g.id and (j.claim_id = g."claimId"
       or (j.state = 0 and exists (select from sluice.job_claim c where c.id = g."claimId")))
     returning j.*, case j.state when 0 then 1 else j.attempt end as attempts, g."claimId" as nonce, g.outcome,
       g.reason, g.error, g."runMs" as run_ms
   ), dead as (
     insert into sluice.job_dead (id, claim_id, enqueued_at, class_id, queue_id, priority, attempt, crashes, outcome,
       reason, error, args, key, key_hash, key_limit, tags, batch_id)
     select id, nonce, coalesce(enqueued_at, run_at), class_id, queue_id, priority, attempts, crashes, outcome,
       reason, error, args, key, key_hash, key_limit, tags, batch_id
     from gone
   ), attempts as (
     insert into sluice.job_attempt (job_id, worker_id, run_ms, attempt, verdict, reason, error)
     select id, $2, run_ms, attempts, outcome, reason, error
     from gone
   ), unlocked as (
     delete from sluice.job_lock d
     where d.ctid = any(array(
       select l.ctid from sluice.job_lock l
       where l.hash = any(array(select unique_hash from gone where unique_hash is not null))
         and l.job_id = any(array(select id from gone where unique_hash is not null))
       for update skip locked))
   )
   select id, key_hash::text as key, batch_id, outcome
   from gone`,
  ({ burials, workerId }) => [freeJson(burials), workerId],
)

/** Readies parked jobs behind jobs that have just left their key; in the transaction in which they left. */
export const admitBehind = statement<{ keys: readonly string[] }, { admitted: number }>(
  'job.admitBehind',
  `select sluice.admit_jobs($1::bigint[]) as admitted`,
  ({ keys }) => [keys],
)

/** Which of these claims still hold their job. Waits for a transaction of doubtful end. */
export const held = statement<{ claims: readonly JobClaim[] }, { id: number }>(
  'job.held',
  `select j.id
   from sluice.job j
   join unnest($1::bigint[], $2::bigint[]) g(id, claim_id) on g.id = j.id and (j.claim_id = g.claim_id
       or (j.state = 0 and exists (select from sluice.job_claim c where c.id = g.claim_id)))
   for update of j`,
  ({ claims }) => [claims.map((c) => c.id), claims.map((c) => c.claimId)],
)

/** A span of the server's time, in milliseconds since 1970; without an end, up to whatever its clock says. */
export interface Span {
  fromMs: number
  toMs?: number
}

/**
 * Which of these claims ended their job with success in a span of time. The span bounds what is read: history may hold
 * millions of jobs and has no index on their ids.
 */
export async function completedBy(
  connection: StoreConnection,
  { claims, ...span }: { claims: readonly JobClaim[] } & Span,
): Promise<JobClaim[]> {
  const rows = await completedJobs(connection, { claims, ...span })
  const found = new Set(rows.map(({ id, claim_id }) => `${id} ${claim_id}`))
  return claims.filter(({ id, claimId }) => found.has(`${id} ${claimId}`))
}

const completedJobs = statement<
  { claims: readonly JobClaim[] } & Span,
  { id: number | string; claim_id: number | string }
>(
  'job.completedJobs',
  `select id, claim_id::text
   from sluice.completed_jobs($1, $2, to_timestamp($3::float8 / 1000),
     coalesce(to_timestamp($4::float8 / 1000), 'infinity'))`,
  ({ claims, fromMs, toMs }) => [
    list(claims.map((c) => c.id)),
    list(claims.map((c) => c.claimId)),
    fromMs,
    toMs ?? null,
  ],
)
