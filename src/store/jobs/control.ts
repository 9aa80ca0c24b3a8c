import type { QueueSwitches } from '../../jobs/queue.ts'
import type { BatchNews } from '../job-batches.ts'
import { statement } from '../statement.ts'

/** A job that a verb acted upon, with the hash of its key. */
export interface Touched {
  id: number
  key: string | null
  /** The batch of jobs that it belongs to. */
  batch_id: number | null
}

/** Which jobs, if they are in a state; null: in any from which the verb does something. */
export interface JobsFrom {
  ids: readonly number[]
  from: string | null
}

/** Takes up again jobs that ended without success, as if they were new. */
export const retryDead = statement<JobsFrom, Touched>(
  'job.retryDead',
  `with back as (
     delete from sluice.job_dead
     where id = any($1::bigint[]) and ($2::text is null or outcome = $2)
     returning *
   ), wanted as (
     -- A wish to end its last run is not one to end the next.
     delete from sluice.job_cancel
     where job_id in (select id from back)
   )
   insert into sluice.job (id, run_at, enqueued_at, queue_id, class_id, state, priority, args, tags, key, key_hash,
     key_limit, batch_id)
   select id, clock_timestamp(), enqueued_at, queue_id, class_id, case when key_hash is null then 4 else 1 end, priority,
     args, tags, key, key_hash, key_limit, batch_id
   from back
   on conflict (id) do nothing
   returning id, key_hash::text as key, batch_id`,
  (p) => [p.ids, p.from],
)

/** Lets scheduled jobs run now. */
export const runNow = statement<JobsFrom, Touched>(
  'job.runNow',
  `update sluice.job
   set state = case state when 2 then 4 else 1 end, enqueued_at = coalesce(enqueued_at, run_at),
     run_at = clock_timestamp()
   where id = any($1::bigint[]) and claim_id is null and state in (2, 3) and coalesce($2, 'scheduled') = 'scheduled'
   returning id, key_hash::text as key, batch_id`,
  (p) => [p.ids, p.from],
)

/**
 * Locks those of some jobs that nobody has claimed and that are in a state (waiting, scheduled or blocked): they stay in
 * it until the end of the transaction, unless somebody claims them. What is claimed is left alone: its handler may have
 * it locked.
 */
export const lockWaiting = statement<{ ids: readonly number[]; from: string }, { id: number }>(
  'job.lockWaiting',
  `select j.id
   from sluice.job j
   where j.id = any($1::bigint[]) and j.claim_id is null
     and case when j.state in (2, 3) then 'scheduled' when j.state = 1 then 'blocked' else 'waiting' end = $2
     and not (j.state = 0 and exists (select from sluice.job_claim c where c.job_ids @> j.id))
   order by j.id
   for update`,
  (p) => [p.ids, p.from],
)

/** Readies members of batches that nobody has claimed for their end; to be committed before that. */
export const setAsideMembers = statement<{ ids: readonly number[] }, object>(
  'job.setAsideMembers',
  `select sluice.set_aside_members($1::bigint[])`,
  ({ ids }) => [ids],
)

/** Ends jobs that nobody has claimed, and counts the members among them; in one statement, as nobody can claim meanwhile. */
export const endWaiting = statement<
  { ids: readonly number[]; outcome: 'cancelled' | 'discarded'; reason: string },
  { touched: Touched[] | null; news: BatchNews[] }
>('job.endWaiting', `select touched, news from sluice.end_waiting_members($1::bigint[], $2, $3)`, (p) => [
  p.ids,
  p.outcome,
  p.reason,
])

/** Marks jobs that ended without success as ones that nobody needs any more; what is known of them is kept. */
export const discardDead = statement<JobsFrom & { reason: string }, { id: number }>(
  'job.discardDead',
  `with gone as (
     delete from sluice.job_dead
     where id = any($1::bigint[]) and outcome in ('dead', 'quarantined') and ($3::text is null or outcome = $3)
     returning *
   )
   insert into sluice.job_dead (id, claim_id, enqueued_at, finished_at, class_id, queue_id, priority, attempt, crashes,
     outcome, reason, error, args, key, key_hash, key_limit, tags, batch_id)
   select id, claim_id, enqueued_at, finished_at, class_id, queue_id, priority, attempt, crashes, 'discarded', $2, error,
     args, key, key_hash, key_limit, tags, batch_id
   from gone
   returning id`,
  (p) => [p.ids, p.reason, p.from],
)

/** Asks for the end of jobs that are running; their workers see it within a second or two. */
export const askToEnd = statement<JobsFrom & { reason: string }, { id: number }>(
  'job.askToEnd',
  `insert into sluice.job_cancel (job_id, reason)
   select id, $2
   from sluice.job j
   where id = any($1::bigint[]) and coalesce($3, 'running') = 'running'
     and (claim_id is not null
       or (state = 0 and exists (select from sluice.job_claim c where c.job_ids @> j.id)))
   on conflict (job_id) do update set reason = excluded.reason, at = clock_timestamp()
   returning job_id as id`,
  (p) => [p.ids, p.reason, p.from],
)

/** Locks a queue for a change, and gives what it was. */
export const lockQueue = statement<{ name: string }, QueueSwitches>(
  'queue.lock',
  `select paused, rate_limit as "limit", rate_ms as "perMs"
   from sluice.queue
   where name = $1
   for no key update`,
  ({ name }) => [name],
)

/** Stops or starts the claiming from a queue. */
export const pauseQueue = statement<{ name: string; paused: boolean; actor: string | null }, { name: string }>(
  'queue.pause',
  `update sluice.queue
   set paused = $2, paused_by = case when $2 then $3 end
   where name = $1
   returning name`,
  (p) => [p.name, p.paused, p.actor],
)

/** Limits how many jobs of a queue start per time; null: no limit. */
export const limitQueue = statement<{ name: string; limit: number | null; perMs: number | null }, { name: string }>(
  'queue.limit',
  `update sluice.queue
   set rate_limit = $2, rate_ms = $3, tokens = coalesce($2, 0), tokens_at = clock_timestamp()
   where name = $1
   returning name`,
  (p) => [p.name, p.limit, p.perMs],
)

/** Frees a unique key whose job has not freed it. */
export const unlock = statement<{ name: string; key: string }, { job_id: number }>(
  'job.unlock',
  `delete from sluice.job_lock l
   using sluice.job_class c
   where c.id = l.class_id and c.name = $1 and l.key = $2
   returning l.job_id`,
  (p) => [p.name, p.key],
)
