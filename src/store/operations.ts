import type { ErrorRecord } from '../std/error-record.ts'
import type { Json } from '../std/json.ts'
import { statement } from './statement.ts'

/** A key of the walked table: one text per cursor column, as the database writes it. Compared only by the database. */
export type Key = readonly string[]

/** An unfinished operation as it is stored. */
export interface OperationRow {
  id: string
  name: string
  args: Json
  tenant: string | null
  actor: string | null
  status: 'queued' | 'active' | 'held'
  hold_reason: string | null
  hold_until: Date | null
  table_name: string
  cursor_columns: string[]
  cursor_types: string[]
  carved_to: Key | null
  carve_end: Key | null
  fully_carved: boolean
  batches_carved: number
  lanes: number
  batch_size: number
  sub_batch_size: number
  rows_estimate: number
  rows_seen: number
  rows_changed: number
  sub_batches: number
  busy_ms: number
  batches_finished: number
  created_at: Date
  /** `created_at` with its microseconds. */
  created_text: string
  started_at: Date | null
}

export interface NewOperation {
  id: string
  name: string
  args: Json
  tenant: string | null
  actor: string | null
  fingerprint: string
  table: string
  cursorColumns: readonly string[]
  cursorTypes: readonly string[]
  carveEnd: Key | null
  lanes: number
  batchSize: number
  subBatchSize: number
  rowsEstimate: number
}

/**
 * Records an operation, or finds the unfinished one with the same fingerprint. Gives nothing when that one was
 * recorded by a transaction that this statement's snapshot does not see yet: ask again.
 */
export const start = statement<NewOperation, { id: string; created: boolean }>(
  'operation.start',
  `with inserted as (
     insert into sluice.operation
       (id, name, args, tenant, actor, fingerprint, status, table_name, cursor_columns, cursor_types,
        carve_end, fully_carved, lanes, batch_size, sub_batch_size, rows_estimate)
     values ($1, $2, $3::text::jsonb, $4, $5, $6, 'queued', $7, $8, $9,
             $10::text[], $10::text[] is null, $11, $12, $13, $14)
     on conflict (fingerprint) do nothing
     returning id
   )
   select id, true as created from inserted
   union all
   select id, id = $1 from sluice.operation
   where fingerprint = $6 and not exists (select from inserted)`,
  (o) => [
    o.id,
    o.name,
    JSON.stringify(o.args),
    o.tenant,
    o.actor,
    o.fingerprint,
    o.table,
    o.cursorColumns,
    o.cursorTypes,
    o.carveEnd,
    o.lanes,
    o.batchSize,
    o.subBatchSize,
    o.rowsEstimate,
  ],
)

/** The operation, with the counters of its running batches added in, or its last state from history. */
export const find = statement<{ id: string }, OperationView>(
  'operation.find',
  `select o.id, o.name, o.args, o.tenant, o.actor, o.status, o.hold_reason, o.hold_until, null::jsonb as error,
     o.table_name, o.lanes, o.rows_estimate,
     o.rows_seen + coalesce(b.rows_seen, 0) as rows_seen,
     o.rows_changed + coalesce(b.rows_changed, 0) as rows_changed,
     o.batches_finished, coalesce(b.running, '[]') as running,
     (select count(*) from sluice.worker w where o.name = any(w.operations))::int as workers,
     o.created_at, o.started_at, null::timestamptz as finished_at, clock_timestamp() as as_of
   from sluice.operation o
   left join lateral (
     select sum(rows_seen)::bigint as rows_seen, sum(rows_changed)::bigint as rows_changed,
       jsonb_agg(jsonb_build_object(
         'batch', seq, 'state', state, 'worker', worker_id, 'leaseMs',
         round(1000 * extract(epoch from lease_until - clock_timestamp()))) order by seq) as running
     from sluice.batch
     where operation_id = o.id
   ) b on true
   where o.id = $1
   union all
   select id, name, args, tenant, actor, status, null, null, error, table_name, 0, rows_estimate, rows_seen,
     rows_changed, batches_finished, '[]', 0, created_at, started_at, finished_at, clock_timestamp()
   from sluice.operation_history
   where id = $1
   limit 1`,
  ({ id }) => [id],
)

/** What `find` gives: an operation wherever it is. */
export interface OperationView extends Pick<
  OperationRow,
  | 'id'
  | 'name'
  | 'args'
  | 'tenant'
  | 'actor'
  | 'hold_reason'
  | 'hold_until'
  | 'table_name'
  | 'lanes'
  | 'rows_estimate'
  | 'rows_seen'
  | 'rows_changed'
  | 'batches_finished'
  | 'created_at'
  | 'started_at'
> {
  status: OperationRow['status'] | 'finished' | 'failed'
  error: ErrorRecord | null
  /** Workers with a sign of life that know it. */
  workers: number
  running: { batch: number; state: 'ready' | 'running'; worker: string | null; leaseMs: number | null }[]
  finished_at: Date | null
  as_of: Date
}

/** The oldest operation with keys left to carve and a lane free, among those that this worker knows. */
export const nextToCarve = statement<{ names: string[] }, OperationRow>(
  'operation.nextToCarve',
  `select o.*, to_json(o.created_at) #>> '{}' as created_text
   from sluice.operation o
   where o.status in ('queued', 'active')
     and not o.fully_carved
     and o.name = any($1)
     and (select count(*) from sluice.batch b where b.operation_id = o.id) < o.lanes
   order by o.created_at, o.id
   limit 1`,
  ({ names }) => [names],
)

/** Stops an operation for a while; only the holder of one of its batches may say so. */
export const hold = statement<{ batchId: string; nonce: string; reason: string; waitMs: number }, { until: Date }>(
  'operation.hold',
  `update sluice.operation o
   set status = 'held', hold_reason = $3, hold_until = clock_timestamp() + $4 * interval '1 millisecond'
   from sluice.batch b
   where b.id = $1 and b.nonce = $2
     and o.id = b.operation_id
     and o.status in ('active', 'held')
   returning o.hold_until as until`,
  (p) => [p.batchId, p.nonce, p.reason, p.waitMs],
)

/** Stops an operation for a while that could not be carved; nothing happens when somebody else could carve it. */
export const holdUncarved = statement<{ operation: OperationRow; reason: string; waitMs: number }, { until: Date }>(
  'operation.holdUncarved',
  `update sluice.operation
   set status = 'held', hold_reason = $3, hold_until = clock_timestamp() + $4 * interval '1 millisecond'
   where id = $1
     and carved_to is not distinct from $2::text[]
     and status in ('queued', 'active')
   returning hold_until as until`,
  (p) => [p.operation.id, p.operation.carved_to, p.reason, p.waitMs],
)

/** Lets operations go on whose hold has run out. */
export const endHolds = statement<void, { id: string }>(
  'operation.endHolds',
  `update sluice.operation
   set status = 'active', hold_reason = null, hold_until = null
   where status = 'held' and hold_until <= clock_timestamp()
   returning id`,
  () => [],
)

export interface Finished {
  id: string
  name: string
  rows_seen: number
  rows_changed: number
  batches_finished: number
  elapsed_ms: number
}

/** Moves operations to history of which nothing is left to carve and no batch is left to do. */
export const finishDone = statement<{ names: string[] }, Finished>(
  'operation.finishDone',
  `with done as (
     delete from sluice.operation o
     where o.fully_carved
       and o.status in ('queued', 'active')
       and o.name = any($1)
       and not exists (select from sluice.batch b where b.operation_id = o.id)
     returning o.*
   )
   insert into sluice.operation_history
     (id, name, args, tenant, actor, status, table_name, rows_estimate, rows_seen, rows_changed, sub_batches, busy_ms,
      batches_finished, created_at, started_at, finished_at)
   select id, name, args, tenant, actor, 'finished', table_name, rows_estimate, rows_seen, rows_changed, sub_batches,
     busy_ms, batches_finished, created_at, started_at, clock_timestamp()
   from done
   returning id, name, rows_seen, rows_changed, batches_finished,
     round(1000 * extract(epoch from finished_at - coalesce(started_at, created_at)))::bigint as elapsed_ms`,
  ({ names }) => [names],
)

/** Ends an operation as failed, with all its batches; only the holder of one of its batches may say so. */
export const fail = statement<{ batchId: string; nonce: string; error: ErrorRecord }, { id: string }>(
  'operation.fail',
  `with mine as materialized (
     select operation_id
     from sluice.batch
     where id = $1 and nonce = $2 and state = 'running'
     for update
   ), batches as (
     delete from sluice.batch
     where operation_id = (select operation_id from mine)
     returning *
   ), moved as (
     insert into sluice.batch_history
       (id, operation_id, seq, lower_key, upper_key, outcome, nonce, worker_id, errors, crashes, last_error,
        rows_seen, rows_changed, sub_batches, busy_ms, created_at, finished_at)
     select id, operation_id, seq, lower_key, upper_key, case when id = $1 then 'failed' else 'abandoned' end, nonce,
       worker_id, errors, crashes, case when id = $1 then $3::text::jsonb else last_error end,
       rows_seen, rows_changed, sub_batches, busy_ms, created_at, clock_timestamp()
     from batches
   ), failed as (
     delete from sluice.operation
     where id = (select operation_id from mine)
     returning *
   )
   insert into sluice.operation_history
     (id, name, args, tenant, actor, status, error, table_name, rows_estimate, rows_seen, rows_changed, sub_batches,
      busy_ms, batches_finished, created_at, started_at, finished_at)
   select f.id, f.name, f.args, f.tenant, f.actor, 'failed', $3::text::jsonb, f.table_name, f.rows_estimate,
     f.rows_seen + s.rows_seen, f.rows_changed + s.rows_changed, f.sub_batches + s.sub_batches, f.busy_ms + s.busy_ms,
     f.batches_finished, f.created_at, f.started_at, clock_timestamp()
   from failed f,
     (select coalesce(sum(rows_seen), 0)::bigint as rows_seen, coalesce(sum(rows_changed), 0)::bigint as rows_changed,
        coalesce(sum(sub_batches), 0)::bigint as sub_batches, coalesce(sum(busy_ms), 0)::bigint as busy_ms
      from batches) s
   returning id`,
  ({ batchId, nonce, error }) => [batchId, nonce, JSON.stringify(error)],
)

/** Ends an operation as failed that can never be carved further, once the batches that it has are done. */
export const failUncarved = statement<{ operation: OperationRow; error: ErrorRecord }, { id: string }>(
  'operation.failUncarved',
  `with failed as (
     delete from sluice.operation o
     where o.id = $1
       and o.carved_to is not distinct from $2::text[]
       and o.status in ('queued', 'active')
       and not exists (select from sluice.batch b where b.operation_id = o.id)
     returning o.*
   )
   insert into sluice.operation_history
     (id, name, args, tenant, actor, status, error, table_name, rows_estimate, rows_seen, rows_changed, sub_batches,
      busy_ms, batches_finished, created_at, started_at, finished_at)
   select id, name, args, tenant, actor, 'failed', $3::text::jsonb, table_name, rows_estimate, rows_seen, rows_changed,
     sub_batches, busy_ms, batches_finished, created_at, started_at, clock_timestamp()
   from failed
   returning id`,
  ({ operation, error }) => [operation.id, operation.carved_to, JSON.stringify(error)],
)
