import type { BatchState, CallbackKind } from '../patterns/batches/status.ts'
import { statement } from './statement.ts'

/** A batch of jobs wherever it is. */
export interface BatchView {
  id: number
  parent_id: number | null
  state: BatchState
  total: number
  succeeded: number
  failed: number
  description: string | null
  cancel_reason: string | null
  opened_at: Date
  sealed_at: Date | null
  finished_at: Date | null
  /** The names of the jobs to call back with. */
  declared: Partial<Record<CallbackKind, string>>
  /** Those that were enqueued. */
  callbacks: { kind: CallbackKind; job_id: number; at: string }[] | null
}

/** Some batches of jobs, live and ended, latest first. */
export const listBatches = statement<{ states: readonly string[]; before: number | null; limit: number }, BatchView>(
  'jobBatch.list',
  `select *
   from (
     select b.id, b.parent_id,
       case when b.cancelled_at is not null then 'cancelling' when b.sealed_at is null then 'open' else 'sealed' end
         as state,
       b.total + (select coalesce(sum(a.members), 0) from sluice.job_batch_addition a
         where a.batch_id = b.id and not a.folded)::integer as total,
       b.succeeded, b.failed, b.description, b.cancel_reason, b.opened_at, b.sealed_at,
       null::timestamptz as finished_at,
       jsonb_strip_nulls(jsonb_build_object('success', b.on_success -> 'job', 'complete', b.on_complete -> 'job',
         'death', b.on_death -> 'job')) as declared,
       (select jsonb_agg(jsonb_build_object('kind', c.kind, 'job_id', c.job_id, 'at', c.at) order by c.at)
        from sluice.job_batch_callback c where c.batch_id = b.id) as callbacks
     from sluice.job_batch b
     union all
     select h.id, h.parent_id, h.outcome, h.total, h.succeeded, h.failed, h.description, h.cancel_reason, h.opened_at,
       h.sealed_at, h.finished_at,
       jsonb_strip_nulls(jsonb_build_object('success', h.on_success -> 'job', 'complete', h.on_complete -> 'job',
         'death', h.on_death -> 'job')),
       h.callbacks
     from sluice.job_batch_history h
   ) b
   where b.state = any($1) and ($2::bigint is null or b.id < $2)
   order by b.id desc
   limit $3`,
  (p) => [p.states, p.before, p.limit],
)

/** Members that ended without success, latest first, and the states in which they ended. */
export const failedMembers = statement<{ id: number; limit: number }, { id: number; name: string; state: string }>(
  'jobBatch.failedMembers',
  `select d.id, c.name, d.outcome as state
   from sluice.job_dead d
   join sluice.job_class c on c.id = d.class_id
   where d.batch_id = $1
   order by d.id desc
   limit $2`,
  (p) => [p.id, p.limit],
)
