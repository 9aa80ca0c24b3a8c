import type { ErrorRecord } from '../std/error-record.ts'
import { statement } from './statement.ts'

/** Where our tables are. */
export const place = statement<void, { database: string }>(
  'database.place',
  `select current_database() as database`,
  () => [],
)

/** A change of state, with who and why. */
export interface Transition {
  from: string | null
  to: string
  reason: string | null
  actor: string | null
  at: Date
}

export const transitionsOf = statement<{ id: string; limit: number }, Transition>(
  'operation.transitions',
  `select from_status as "from", to_status as "to", reason, actor, at
   from sluice.transition
   where operation_id = $1
   order by at desc
   limit $2`,
  (p) => [p.id, p.limit],
)

/** Neighbouring batches of an operation, folded into one. */
export interface Stretch {
  /** The first and the last of its batches, by their numbers. */
  first: number
  last: number
  batches: number
  from: readonly string[] | null
  to: readonly string[]
  rows: number
  changed: number
  /** Working time of the slowest of its batches. */
  busyMs: number
  running: number
  /** Batches that had errors or lost their worker, and went on. */
  retried: number
  failed: number
  error: ErrorRecord | null
}

/** Batches in the order of their keys; when there are more than `cells`, neighbours are folded. */
export const stretches = statement<{ id: string; cells: number }, Stretch>(
  'operation.stretches',
  `with known as (
     select seq, lower_key, upper_key, rows_seen, rows_changed, busy_ms, false as running,
       errors + crashes > 0 and outcome = 'finished' as retried, outcome = 'failed' as failed, last_error
     from sluice.batch_history
     where operation_id = $1 and seq > 0 and outcome <> 'retried'
     union all
     select seq, lower_key, upper_key, rows_seen, rows_changed, busy_ms, state = 'running', errors + crashes > 0, false,
       last_error
     from sluice.batch
     where operation_id = $1 and seq > 0
   ), placed as (
     select k.*, ((row_number() over (order by seq) - 1) * least($2, count(*) over ()) / greatest(1, count(*) over ())) as cell
     from known k
   )
   select min(seq)::int as first, max(seq)::int as last, count(*)::int as batches,
     (array_agg(lower_key::text order by seq))[1]::text[] as "from",
     (array_agg(upper_key::text order by seq desc))[1]::text[] as "to",
     sum(rows_seen)::bigint as rows, sum(rows_changed)::bigint as changed, max(busy_ms)::bigint as "busyMs",
     count(*) filter (where running)::int as running, count(*) filter (where retried)::int as retried,
     count(*) filter (where failed)::int as failed,
     (array_agg(last_error order by seq desc) filter (where last_error is not null))[1] as error
   from placed
   group by cell
   order by cell`,
  (p) => [p.id, p.cells],
)
