import type { ErrorRecord } from '../std/error-record.ts'
import { type ClaimedBatch, claimColumns } from './batches.ts'
import type { Key, OperationRow } from './operations.ts'
import { freeJson } from './free-text.ts'
import { statement } from './statement.ts'

/**
 * The operation to work on next, among those that this worker knows: tenants before the system, of the tenants the
 * one that has had least, of its operations the one that has had least for its weight, then the weightiest and the
 * oldest. Weight is priority, doubled for every quarter of an hour of waiting. Whoever waits (held, paused, disabled,
 * for its table or for a lane) is not in the running and takes nobody's place.
 */
export const nextOperation = statement<{ names: string[] }, OperationRow & { ready: boolean; as_of: Date }>(
  'operation.next',
  `with candidate as (
     select o.*,
       exists (select from sluice.batch b
               where b.operation_id = o.id and b.state = 'ready' and b.ready_at <= clock_timestamp())
         and (select count(*) from sluice.batch b where b.operation_id = o.id and b.state = 'running') < o.lanes as ready,
       (select count(*) from sluice.batch b where b.operation_id = o.id) < o.lanes and not o.fully_carved as carvable,
       case o.priority when 'high' then 16 when 'normal' then 4 else 1 end
         * power(2, least(20, floor(extract(epoch from clock_timestamp() - o.status_since) / 900))) as weight
     from sluice.operation o
     where o.status in ('queued', 'active', 'verifying')
       and o.name = any($1)
       -- One that waits for its window, before it has its table.
       and (o.status <> 'queued' or o.hold_until is null or o.hold_until <= clock_timestamp())
       and not exists (select from sluice.disabled_operation d where d.name = o.name)
       and not exists (select from sluice.standstill)
   )
   select c.*, to_json(c.created_at) #>> '{}' as created_text, clock_timestamp() as as_of
   from candidate c
   left join sluice.tenant_share s on s.tenant = coalesce(c.tenant, '')
   where (c.ready or c.carvable)
     and (c.status <> 'queued' or c.conflicts = 'none' or not exists (
       select from sluice.operation x
       where x.table_name = c.table_name
         and x.id <> c.id
         and x.conflicts = 'table'
         and x.status in ('active', 'held', 'verifying', 'pausing', 'cancelling')))
   order by
     c.tenant is null and c.status_since > clock_timestamp() - interval '15 minutes',
     coalesce(s.virtual_ms, 0),
     c.busy_ms / c.weight,
     c.weight desc,
     c.created_at,
     c.id
   limit 1`,
  ({ names }) => [names],
)

/** Ends an operation as failed whose row is not what its definition says; only while it says the same. */
export const refuse = statement<{ operation: OperationRow; error: ErrorRecord }, { id: string }>(
  'operation.refuse',
  `with strange as materialized (
     select o.id
     from sluice.operation o
     where o.id = $1
       and o.table_name = $2 and o.cursor_columns = $3 and o.cursor_types = $4
       and o.status in ('queued', 'active', 'verifying')
     for update
   )
   select id
   from strange
   where sluice.end_operation(id, 'failed', $5::text::jsonb ->> 'message', $5::text::jsonb)`,
  ({ operation: o, error }) => [o.id, o.table_name, o.cursor_columns, o.cursor_types, freeJson(error)],
)

/** Lets an operation wait for a person that came into the queue without one, though its definition asks for it. */
export const askApproval = statement<{ id: string; reason: string }, { id: string }>(
  'operation.askApproval',
  `update sluice.operation
   set status = 'awaiting_approval', reason = $2, status_actor = null
   where id = $1 and status = 'queued' and not approved
   returning id`,
  (p) => [p.id, p.reason],
)

/** Lets a waiting operation have its table. Fails on a unique index when another one has just got it. */
export const activate = statement<{ id: string }, { id: string }>(
  'operation.activate',
  `update sluice.operation
   set status = case when pass > 1 then 'verifying' else 'active' end, reason = null, status_actor = null,
     hold_until = null, started_at = coalesce(started_at, clock_timestamp())
   where id = $1 and status = 'queued'
   returning id`,
  ({ id }) => [id],
)

/** Makes those who claim batches of one operation take turns, so that each counts the running ones rightly. */
export const takeTurn = statement<{ operationId: string }, { id: string }>(
  'operation.takeTurn',
  `select id
   from sluice.operation
   where id = $1
   for update`,
  ({ operationId }) => [operationId],
)

/** Leases a batch of an operation that waits: given back, rescued, or due again after an error. */
export const claim = statement<{ operationId: string; workerId: string; leaseMs: number }, ClaimedBatch>(
  'batch.claim',
  `with free as materialized (
     select b.id
     from sluice.batch b
     where b.operation_id = $1
       and b.state = 'ready'
       and b.ready_at <= clock_timestamp()
       and (select count(*) from sluice.batch r where r.operation_id = $1 and r.state = 'running')
         < (select lanes from sluice.operation where id = $1)
     order by b.ready_at, b.seq
     limit 1
     for update skip locked
   )
   update sluice.batch b
   set state = 'running', nonce = gen_random_uuid(), worker_id = $2,
     lease_until = clock_timestamp() + $3 * interval '1 millisecond'
   from free
   where b.id = free.id
     and b.state = 'ready'
   returning ${claimColumns}`,
  (p) => [p.operationId, p.workerId, p.leaseMs],
)

/**
 * Carves the next batch off an operation and leases it to a worker, in one guarded statement: when another worker has
 * carved meanwhile, `carved_to` has moved and nothing happens.
 */
export const carve = statement<
  {
    operation: OperationRow
    upper: Key
    last: boolean
    size: number
    batchId: string
    workerId: string
    leaseMs: number
  },
  ClaimedBatch
>(
  'batch.carve',
  `with moved as (
     update sluice.operation o
     set carved_to = $3, carve_end = case when $4 then $3 else o.carve_end end, fully_carved = $4 and o.until = 'end',
       batches_carved = o.batches_carved + 1,
       -- What has become too slow is tried again, step by step.
       carve_size = case when o.tunes_batches then o.carve_size when $9 * 2 < o.batch_size then $9 * 2 end
     where o.id = $1
       and o.status in ('active', 'verifying')
       and not o.fully_carved
       and o.pass = $8
       and o.carved_to is not distinct from $2::text[]
       and (select count(*) from sluice.batch b where b.operation_id = o.id) < o.lanes
     returning o.id, o.batches_carved, coalesce(o.tuned_size, o.sub_batch_size) as sub_batch_size, o.pass
   )
   insert into sluice.batch as b
     (id, operation_id, seq, lower_key, upper_key, checkpoint, state, nonce, worker_id, lease_until, sub_batch_size, pass)
   select $5, id, batches_carved, $2, $3, $2, 'running', gen_random_uuid(), $6,
     clock_timestamp() + $7 * interval '1 millisecond', sub_batch_size, pass
   from moved
   returning ${claimColumns}`,
  (p) => [
    p.operation.id,
    p.operation.carved_to,
    p.upper,
    p.last,
    p.batchId,
    p.workerId,
    p.leaseMs,
    p.operation.pass,
    p.size,
  ],
)

/** Makes the next batch smaller, after looking for its end took too long; whoever carves next begins with that. */
export const shrinkCarve = statement<{ operation: OperationRow; size: number }, { id: string }>(
  'operation.shrinkCarve',
  `update sluice.operation
   set carve_size = $3
   where id = $1
     and carved_to is not distinct from $2::text[]
     and not fully_carved
   returning id`,
  ({ operation, size }) => [operation.id, operation.carved_to, size],
)

/** Says that there is nothing left to carve. */
export const closeCarving = statement<{ operation: OperationRow }, { id: string }>(
  'operation.closeCarving',
  `update sluice.operation
   set fully_carved = true
   where id = $1
     and pass = $3
     and carved_to is not distinct from $2::text[]
     and not fully_carved
   returning id`,
  ({ operation }) => [operation.id, operation.carved_to, operation.pass],
)

/**
 * Adds what a batch has cost to the share of its tenant. A tenant that had nothing to do for a while is first brought
 * up to the least served one: idle time cannot be saved up.
 */
export const charge = statement<{ operationId: string; busyMs: number }, { tenant: string }>(
  'tenant.charge',
  `with charged as (
     select coalesce(o.tenant, '') as tenant,
       $2::float8 / case o.priority when 'high' then 16 when 'normal' then 4 else 1 end as cost
     from sluice.operation o
     where o.id = $1
   ), least_served as (
     select coalesce(min(t.virtual_ms), 0) as virtual_ms
     from sluice.tenant_share t
     where t.tenant not in (select tenant from charged)
       and t.tenant <> ''
       and exists (select from sluice.operation o where o.tenant = t.tenant)
   )
   insert into sluice.tenant_share as s (tenant, virtual_ms)
   select c.tenant, l.virtual_ms + c.cost
   from charged c, least_served l
   on conflict (tenant) do update
   set virtual_ms = greatest(s.virtual_ms + (select cost from charged), excluded.virtual_ms)
   returning s.tenant`,
  (p) => [p.operationId, p.busyMs],
)
