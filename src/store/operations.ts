import type { ErrorRecord } from '../std/error-record.ts'
import type { Json } from '../std/json.ts'
import { storableWho, type Who } from './audit.ts'
import { statement } from './statement.ts'

/** A key of the walked table: one text per cursor column, as the database writes it. Compared only by the database. */
export type Key = readonly string[]

/** Statuses of an operation that is not over. */
type LiveStatus = 'awaiting_approval' | 'queued' | 'active' | 'held' | 'pausing' | 'paused' | 'verifying' | 'cancelling'

export type Priority = 'low' | 'normal' | 'high'

/**
 * The order in which an operation goes through its table, and which rows are steps on the way.
 *
 * - `key`: all rows, in the order of the cursor.
 * - `sparse`: only those in scope, in the order of the cursor, by an index that holds no others.
 * - `found`: the same, where an index finds the rows in scope in another order, and there are few.
 */
export type WalkKind = 'key' | 'sparse' | 'found'

/** An unfinished operation as it is stored. */
export interface OperationRow {
  id: string
  name: string
  args: Json
  tenant: string | null
  status: LiveStatus
  /** A person has let it run. */
  approved: boolean
  fingerprint: string
  table_name: string
  cursor_columns: string[]
  cursor_types: string[]
  lower_key: Key | null
  carved_to: Key | null
  carve_end: Key | null
  until: 'end' | 'empty'
  pass: number
  fully_carved: boolean
  lanes: number
  batch_size: number
  walk: WalkKind
  /** Whether `batch_size` is only the most that a batch may have. */
  tunes_batches: boolean
  /** Rows of the next batch; null: `batch_size`. */
  carve_size: number | null
  sub_batch_size: number
  /** Rows of a sub-batch, as far as is known; null: always `sub_batch_size`, which else is the most. */
  tuned_size: number | null
  /** The hours in which it may run; null: at any time. */
  run_window: string | null
  /** Rows of the table at the start, and those that finished batches have passed. */
  rows_estimate: number
  rows_seen: number
  /** `created_at` with its microseconds. */
  created_text: string
}

/** How large batches and sub-batches are: exactly, or at most while the worker finds the size (not null). */
export interface Sizes {
  batchSize: number
  carveSize: number | null
  subBatchSize: number
  tunedSize: number | null
}

export interface NewOperation extends Sizes {
  id: string
  name: string
  args: Json
  tenant: string | null
  actor: string | null
  /** It waits for a person before it runs. */
  approval: boolean
  fingerprint: string
  table: string
  cursorColumns: readonly string[]
  cursorTypes: readonly string[]
  lowerKey: Key | null
  carveEnd: Key | null
  until: 'end' | 'empty'
  verify: boolean
  priority: Priority
  conflicts: 'table' | 'none'
  walk: WalkKind
  /** The index along which it goes; null: the one of its key. */
  walkIndex: string | null
  lanes: number
  mostLanes: number | null
  quarantineLimit: number
  window: string | null
  rowsEstimate: number
  /** Kept with the first state; null: there is nothing to say. */
  reason: string | null
}

/**
 * Records an operation and who started it, or finds the unfinished one with the same fingerprint. Gives nothing when
 * that one was recorded by a transaction that this statement's snapshot does not see: ask again.
 */
export const start = statement<{ operation: NewOperation; who: Who }, { id: string; created: boolean }>(
  'operation.start',
  `select id, created
   from sluice.start_operation($1::text::jsonb, $2::text::jsonb)`,
  ({ operation: o, who }) => [
    JSON.stringify({
      id: o.id,
      name: o.name,
      args: o.args,
      tenant: o.tenant,
      actor: o.actor,
      approval: o.approval,
      fingerprint: o.fingerprint,
      table_name: o.table,
      cursor_columns: o.cursorColumns,
      cursor_types: o.cursorTypes,
      lower_key: o.lowerKey,
      carve_end: o.carveEnd,
      until: o.until,
      verify: o.verify,
      priority: o.priority,
      conflicts: o.conflicts,
      lanes: o.lanes,
      most_lanes: o.mostLanes,
      batch_size: o.batchSize,
      sub_batch_size: o.subBatchSize,
      quarantine_limit: o.quarantineLimit,
      rows_estimate: o.rowsEstimate,
      walk: o.walk,
      walk_index: o.walkIndex,
      run_window: o.window,
      carve_size: o.carveSize,
      tuned_size: o.tunedSize,
      reason: o.reason,
    }),
    JSON.stringify(storableWho(who)),
  ],
)

/** Whether an operation was started for a reason that begins like this. */
export const startedFor = statement<{ id: string; beginning: string }, { id: string }>(
  'operation.startedFor',
  `select operation_id as id
   from sluice.transition
   where operation_id = $1 and from_status is null and starts_with(reason, $2)
   limit 1`,
  ({ id, beginning }) => [id, beginning],
)

/** The key that the last finished run of a recurring operation came to. */
export const lastMark = statement<{ fingerprint: string }, { key: Key }>(
  'operation.lastMark',
  `select key
   from sluice.recurring_mark
   where fingerprint = $1`,
  ({ fingerprint }) => [fingerprint],
)

/** An operation wherever it is, with the counters of its running batches added in. */
export interface OperationView {
  id: string
  name: string
  args: Json
  tenant: string | null
  actor: string | null
  status: LiveStatus | 'finished' | 'finished_with_quarantine' | 'failed' | 'cancelled'
  reason: string | null
  hold_until: Date | null
  disabled: boolean
  /** No operation works: who said so, why, and since when. */
  standstill: { reason: string | null; actor: string | null; since: string } | null
  error: ErrorRecord | null
  table_name: string
  cursor_columns: string[]
  cursor_types: string[]
  lower_key: Key | null
  carved_to: Key | null
  carve_end: Key | null
  priority: Priority
  lanes: number
  /** Not null: the lanes follow the load, up to so many. */
  most_lanes: number | null
  pace: number
  /** What limits it by the last word of a worker, if that is fresh. */
  limited_by: string | null
  walk: WalkKind
  walk_index: string | null
  sub_batch_size: number
  tuned_size: number | null
  run_window: string | null
  pass: number
  rows_estimate: number
  rows_seen: number
  rows_matched: number
  rows_changed: number
  rows_quarantined: number
  sub_batches: number
  busy_ms: number
  batches_finished: number
  /** Workers with a sign of life that know it. */
  workers: number
  running: {
    batch: number
    state: 'ready' | 'running'
    worker: string | null
    leaseMs: number | null
    at: Key | null
  }[]
  created_at: Date
  started_at: Date | null
  finished_at: Date | null
  as_of: Date
}

const liveColumns = `o.id, o.name, o.args, o.tenant, o.actor, o.status, o.reason, o.hold_until,
     exists (select from sluice.disabled_operation d where d.name = o.name)
       or exists (select from sluice.standstill) as disabled,
     (select to_jsonb(s) - 'only_one' from sluice.standstill s) as standstill, null::jsonb as error,
     o.table_name, o.cursor_columns, o.cursor_types, o.lower_key, o.carved_to, o.carve_end, o.priority, o.lanes,
     o.most_lanes, o.pace,
     case when o.limited_at > clock_timestamp() - interval '30 seconds' then o.limiter ->> 'sentence' end as limited_by,
     o.walk, o.walk_index, o.sub_batch_size, o.tuned_size, o.run_window, o.pass, o.rows_estimate,
     o.rows_seen + coalesce(b.rows_seen, 0) as rows_seen,
     o.rows_matched + coalesce(b.rows_matched, 0) as rows_matched,
     o.rows_changed + coalesce(b.rows_changed, 0) as rows_changed,
     o.rows_quarantined + coalesce(b.rows_quarantined, 0) as rows_quarantined,
     o.sub_batches + coalesce(b.sub_batches, 0) as sub_batches,
     o.busy_ms + coalesce(b.busy_ms, 0) as busy_ms,
     o.batches_finished,
     (select count(*) from sluice.worker w where o.name = any(w.operations)
       and w.seen_at > clock_timestamp() - interval '2 minutes')::int as workers,
     coalesce(b.running, '[]') as running,
     o.created_at, o.started_at, null::timestamptz as finished_at, clock_timestamp() as as_of`

const liveBatches = `left join lateral (
     select sum(rows_seen)::bigint as rows_seen, sum(rows_matched)::bigint as rows_matched,
       sum(rows_changed)::bigint as rows_changed, sum(rows_quarantined)::bigint as rows_quarantined,
       sum(sub_batches)::bigint as sub_batches, sum(busy_ms)::bigint as busy_ms,
       jsonb_agg(jsonb_build_object(
         'batch', seq, 'state', state, 'worker', worker_id, 'at', checkpoint, 'leaseMs',
         round(1000 * extract(epoch from lease_until - clock_timestamp()))) order by seq) as running
     from sluice.batch
     where operation_id = o.id
   ) b on true`

const pastColumns = `h.id, h.name, h.args, h.tenant, h.actor, h.status,
     (select t.reason from sluice.transition t where t.operation_id = h.id order by t.at desc limit 1), null, false, null, h.error, h.table_name,
     array(select jsonb_array_elements_text(h.record -> 'cursor_columns')),
     array(select jsonb_array_elements_text(h.record -> 'cursor_types')), null::text[], null::text[], null::text[],
     coalesce(h.record ->> 'priority', 'normal'), coalesce((h.record ->> 'lanes')::int, 1),
     (h.record ->> 'most_lanes')::int, coalesce((h.record ->> 'pace')::real, 1), null::text,
     coalesce(h.record ->> 'walk', 'key'), h.record ->> 'walk_index', coalesce((h.record ->> 'sub_batch_size')::int, 1),
     (h.record ->> 'tuned_size')::int, h.record ->> 'run_window',
     coalesce((h.record ->> 'pass')::int, 1), h.rows_estimate, h.rows_seen, h.rows_matched, h.rows_changed,
     h.rows_quarantined, h.sub_batches, h.busy_ms, h.batches_finished, 0, '[]'::jsonb, h.created_at, h.started_at,
     h.finished_at, clock_timestamp()`

/** One operation, live or from history. */
export const find = statement<{ id: string }, OperationView>(
  'operation.find',
  `select ${liveColumns}
   from sluice.operation o
   ${liveBatches}
   where o.id = $1
   union all
   select ${pastColumns}
   from sluice.operation_history h
   where h.id = $1
   limit 1`,
  ({ id }) => [id],
)

/** Operations that are not over, oldest first, then those that are, latest first. */
export const list = statement<{ name: string | null; tenant: string | null; limit: number }, OperationView>(
  'operation.list',
  `(select ${liveColumns}
    from sluice.operation o
    ${liveBatches}
    where ($1::text is null or o.name = $1) and ($2::text is null or o.tenant = $2)
    order by o.created_at, o.id
    limit $3)
   union all
   (select ${pastColumns}
    from sluice.operation_history h
    where ($1::text is null or h.name = $1) and ($2::text is null or h.tenant = $2)
    order by h.finished_at desc
    limit $3)
   limit $3`,
  (p) => [p.name, p.tenant, p.limit],
)
