import type { Json } from '../std/json.ts'
import { statement } from './statement.ts'

/** One operation on the move: its row, and the batches and quarantined ranges that belong to it. */
export interface MovedOperation {
  operation: Record<string, Json>
  batches: Record<string, Json>[]
  quarantine: Record<string, Json>[]
}

/**
 * Locks a tenant's unfinished operations and their batches. The locks wait for running sub-batches to commit and keep
 * the next ones out: what is read after this is where the work stands.
 */
export const lock = statement<{ tenant: string }, { id: string }>(
  'tenant.lock',
  `with mine as materialized (
     select id from sluice.operation where tenant = $1 order by id for update
   )
   select b.id
   from sluice.batch b
   where b.operation_id in (select id from mine)
   order by b.id
   for update`,
  ({ tenant }) => [tenant],
)

/** A tenant's unfinished operations as they stand. */
export const read = statement<{ tenant: string }, MovedOperation>(
  'tenant.read',
  `select to_jsonb(o) as operation,
     coalesce((select jsonb_agg(to_jsonb(b) order by b.seq) from sluice.batch b where b.operation_id = o.id), '[]')
       as batches,
     coalesce((select jsonb_agg(to_jsonb(q) order by q.quarantined_at) from sluice.quarantine q
               where q.operation_id = o.id and q.retried_at is null), '[]') as quarantine
   from sluice.operation o
   where o.tenant = $1
   order by o.created_at, o.id`,
  ({ tenant }) => [tenant],
)

/** Ends a tenant's operations here. A worker in the middle of one finds its claim gone and commits nothing more. */
export const leave = statement<{ tenant: string; actor: string | null }, { id: string }>(
  'tenant.leave',
  `select o.id
   from sluice.operation o
   where o.tenant = $1
     and sluice.end_operation(o.id, 'cancelled', 'moved to another database', null, $2)`,
  (p) => [p.tenant, p.actor],
)

/** Takes an operation in as it stood elsewhere: stopped ones stay stopped, the others wait for their turn. */
export const arrive = statement<MovedOperation, { id: string; created: boolean }>(
  'tenant.arrive',
  `with given as (
     select r.*
     from jsonb_populate_record(null::sluice.operation, '{"walk": "key", "approved": false}' || $1::text::jsonb
       || jsonb_build_object('status', case when $1::text::jsonb ->> 'status' in ('paused', 'pausing') then 'paused'
            when $1::text::jsonb ->> 'status' = 'awaiting_approval' then 'awaiting_approval' else 'queued' end,
          'hold_until', null)) r
   ), inserted as (
     insert into sluice.operation
     select * from given
     on conflict do nothing
     returning id
   ), batches as (
     insert into sluice.batch
     select r.*
     from inserted, jsonb_array_elements($2::text::jsonb) b,
       jsonb_populate_record(null::sluice.batch, b
         || '{"state": "ready", "nonce": null, "worker_id": null, "lease_until": null}') r
   ), ranges as (
     insert into sluice.quarantine (id, operation_id, seq, lower_key, upper_key, rows, error, fingerprint)
     select r.id, r.operation_id, r.seq, r.lower_key, r.upper_key, r.rows, r.error, r.fingerprint
     from inserted, jsonb_array_elements($3::text::jsonb) q, jsonb_populate_record(null::sluice.quarantine, q) r
   )
   select g.id, exists (select from inserted) as created
   from given g`,
  (m) => [JSON.stringify(m.operation), JSON.stringify(m.batches), JSON.stringify(m.quarantine)],
)
