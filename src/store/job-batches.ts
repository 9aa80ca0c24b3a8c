import { list, statement } from './statement.ts'
import type { Completion } from '../jobs/ending.ts'
import type { UnclearBatch } from '../patterns/batches/batch-store.ts'
import type { CallbackKind } from '../patterns/batches/status.ts'
import type { Span } from './jobs/settle.ts'

interface Counts {
  total: number
  succeeded: number
  failed: number
}

/** What happened to a batch of jobs in a statement. */
export type BatchNews = { batchId: number } & (
  | { event: 'sealed'; total: number }
  | { event: 'cancelled'; reason: string }
  | { event: 'reopened' }
  | { event: 'called'; kind: CallbackKind; jobId: number }
  | ({ event: 'finished'; state: 'succeeded' | 'failed' | 'cancelled' } & Counts)
  | ({ event: 'mended' } & Counts)
)

interface News {
  news: BatchNews[] | null
}

/** Opens a batch of jobs; `spec` is JSON. */
export const openBatch = statement<{ spec: string }, { id: number | string }>(
  'jobBatch.open',
  `select sluice.open_job_batch($1) as id`,
  ({ spec }) => [spec],
)

/** Says that no member comes from outside any more. */
export const sealBatch = statement<{ id: number }, News>(
  'jobBatch.seal',
  `select sluice.seal_job_batch($1) as news`,
  ({ id }) => [id],
)

/** Locks a batch of jobs for a change and gives its state, also when it is over; null: there is none. */
export const lockBatch = statement<{ id: number }, { state: string | null }>(
  'jobBatch.lock',
  `select sluice.lock_job_batch($1) as state`,
  ({ id }) => [id],
)

/** Marks a batch of jobs as cancelled; its members are still to be ended. */
export const cancelBatch = statement<{ id: number; reason: string }, News>(
  'jobBatch.cancel',
  `select sluice.cancel_job_batch($1, $2) as news`,
  (p) => [p.id, p.reason],
)

/** How many members of a batch of jobs have ended, and how. */
export interface Tally {
  batch: number
  succeeded: number
  failed: number
  died: number
}

/** Counts members that have ended; in the transaction in which they end, and once in it. */
export const membersEnded = statement<{ tallies: readonly Tally[] }, News>(
  'jobBatch.membersEnded',
  `select sluice.batch_members_ended($1::text::jsonb) as news`,
  ({ tallies }) => [JSON.stringify(tallies)],
)

/** Takes back that members failed; in the transaction in which they are taken up again. */
export const membersBack = statement<{ tallies: readonly Tally[] }, News>(
  'jobBatch.membersBack',
  `select sluice.batch_members_back($1::text::jsonb) as news`,
  ({ tallies }) => [JSON.stringify(tallies)],
)

/** Completes jobs of which some are members, and counts those, in one statement; waits for no lock longer than that. */
export const completeMembers = statement<
  { done: readonly Completion[]; emptyClaims: readonly string[]; lockMs?: number | undefined },
  { ids: string | null; keys: string[] | null } & News
>(
  'jobBatch.completeMembers',
  `select ids, keys, news
   from sluice.complete_member_jobs($1, $2, $3, $4, $5, $6)`,
  ({ done, emptyClaims, lockMs }) => [
    list(done.map((d) => d.id)),
    list(done.map((d) => d.claimId)),
    list(done.map((d) => d.waitMs)),
    list(done.map((d) => d.runMs)),
    list(emptyClaims),
    lockMs ?? null,
  ],
  { prepare: true },
)

/**
 * Sealed batches of jobs of which nobody has counted a member for a while, and whose counters cannot be right: they
 * say that it is over, or there is nothing left to wait for.
 */
export const suspectBatches = statement<{ idleMs: number }, { id: number }>(
  'jobBatch.suspects',
  `select b.id
   from sluice.job_batch b
   where b.sealed_at is not null and b.touched_at < clock_timestamp() - $1 * interval '1 millisecond'
     and (b.succeeded + b.failed >= b.total
       or (not exists (select from sluice.job j where j.batch_id = b.id)
         and not exists (select from sluice.job_batch c where c.parent_id = b.id)))
   order by b.touched_at
   limit 100`,
  ({ idleMs }) => [idleMs],
)

/** Counts a batch of jobs anew from what is there; `recount`: how many members history has, and when that was asked. */
export const mendBatch = statement<
  { id: number; keepDays: number; recount?: { seen: string; completed: number } },
  { news: (BatchNews | UnclearBatch)[] | null }
>(
  'jobBatch.mend',
  `select sluice.mend_job_batch($1, $2, $3::text::timestamptz, $4) as news`,
  ({ id, keepDays, recount }) => [id, keepDays, recount?.seen ?? null, recount?.completed ?? null],
)

/** How many members of a batch of jobs succeeded in a span of the server's time; the span bounds what is read. */
export const completedMembers = statement<{ id: number } & Span, { completed: number }>(
  'jobBatch.completedMembers',
  `select sluice.count_completed_members($1, to_timestamp($2::float8 / 1000),
     coalesce(to_timestamp($3::float8 / 1000), 'infinity'))::int as completed`,
  ({ id, fromMs, toMs }) => [id, fromMs, toMs ?? null],
)

/** Cancelled batches of jobs of which members are left. */
export const cancelledBatches = statement<void, { id: number; reason: string }>(
  'jobBatch.cancelled',
  `select id, cancel_reason as reason
   from sluice.job_batch
   where cancelled_at is not null
   order by id
   limit 100`,
  () => [],
)

/** Unfinished members of a batch of jobs, in the order of their ids. */
export const liveMembers = statement<{ id: number; after: number; limit: number }, { id: number }>(
  'jobBatch.liveMembers',
  `select id
   from sluice.job
   where batch_id = $1 and id > $2
   order by id
   limit $3`,
  (p) => [p.id, p.after, p.limit],
)

/** Batches inside of this one that are neither over nor cancelled. */
export const liveChildren = statement<{ id: number }, { id: number }>(
  'jobBatch.liveChildren',
  `select id
   from sluice.job_batch
   where parent_id = $1 and cancelled_at is null
   order by id`,
  ({ id }) => [id],
)

/** Whether there is no partition for what ends this week. */
export const isBatchWeekMissing = statement<void, { missing: boolean }>(
  'jobBatch.isWeekMissing',
  `select to_regclass('sluice.job_batch_history_'
     || to_char(date_trunc('week', clock_timestamp() at time zone 'UTC'), 'YYYYMMDD')) is null as missing`,
  () => [],
)

const weeksAhead = 4

/** Makes sure that ended batches of jobs have a partition to go to. */
export const createBatchPartitions = statement<void, { created: number }>(
  'jobBatch.createPartitions',
  `select sluice.create_job_batch_partitions($1) as created`,
  () => [weeksAhead],
)

/** Drops the weeks of history that are old enough. */
export const dropBatchPartitions = statement<{ keepDays: number }, { dropped: number }>(
  'jobBatch.dropPartitions',
  `select sluice.drop_job_batch_partitions($1) as dropped`,
  ({ keepDays }) => [keepDays],
)
