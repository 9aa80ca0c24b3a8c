import type { ErrorRecord } from '../std/error-record.ts'
import type { Key } from './operations.ts'
import { statement } from './statement.ts'

/** A range of keys that could not be processed, mostly one row. */
export interface QuarantinedRange {
  id: string
  operation_id: string
  seq: number
  lower_key: Key | null
  upper_key: Key
  rows: number
  error: ErrorRecord
  fingerprint: string
  retried_at: Date | null
  quarantined_at: Date
}

/** What is quarantined of an operation and not retried yet. */
export const list = statement<{ operationId: string; limit: number }, QuarantinedRange>(
  'quarantine.list',
  `select id, operation_id, seq, lower_key, upper_key, rows, error, fingerprint, retried_at, quarantined_at
   from sluice.quarantine
   where operation_id = $1 and retried_at is null
   order by quarantined_at, id
   limit $2`,
  (p) => [p.operationId, p.limit],
)

/**
 * Takes up what is left of an operation: batches for its quarantined ranges and for those that failed or were
 * abandoned. An operation that is over comes back from history, unless an equal one has been started meanwhile.
 */
export const retry = statement<
  /** Only from this state; null: from any that it is possible in. */
  { id: string; actor: string | null; reason: string | null; from: string | null },
  { id: string; ranges: number }
>(
  'operation.retry',
  `with isolated as (
     select coalesce(sum(rows), 0)::bigint as rows
     from sluice.quarantine
     where operation_id = $1 and retried_at is null
   ), past as (
     delete from sluice.operation_history h
     where h.id = $1
       and h.status in ('failed', 'finished_with_quarantine')
       and ($4::text is null or h.status = $4)
       and h.record is not null
       and not exists (select from sluice.operation o where o.fingerprint = h.record ->> 'fingerprint')
     returning h.record
   ), revived as (
     -- Rows that are taken up again are counted again when they are done.
     insert into sluice.operation
     select r.*
     from past, isolated i, jsonb_populate_record(null::sluice.operation, '{"walk": "key", "approved": false}' || past.record
       || jsonb_build_object('status', 'queued', 'reason', $3::text, 'status_actor', $2::text, 'hold_until', null,
            'rows_seen', (past.record ->> 'rows_seen')::bigint - i.rows,
            'rows_matched', (past.record ->> 'rows_matched')::bigint - i.rows,
            'rows_quarantined', (past.record ->> 'rows_quarantined')::bigint - i.rows)) r
     returning id
   ), live as (
     -- What a running batch has isolated is in its own counters: these may go below zero until it is folded in.
     update sluice.operation o
     set rows_seen = o.rows_seen - i.rows, rows_matched = o.rows_matched - i.rows,
       rows_quarantined = o.rows_quarantined - i.rows
     from isolated i
     where o.id = $1 and o.status in ('queued', 'active', 'held', 'paused', 'verifying')
       and ($4::text is null or o.status = $4)
     returning o.id
   ), target as (
     select id from revived union all select id from live
   ), freed as (
     update sluice.quarantine q
     set retried_at = clock_timestamp()
     where q.operation_id = (select id from target) and q.retried_at is null
     returning q.lower_key, q.upper_key
   ), taken as (
     update sluice.batch_history b
     set outcome = 'retried'
     where b.operation_id = (select id from target) and b.outcome in ('failed', 'abandoned')
     returning coalesce(b.checkpoint, b.lower_key) as lower_key, b.upper_key
   ), ranges as (
     select lower_key, upper_key from freed
     union all
     select lower_key, upper_key from taken where lower_key is distinct from upper_key
   ), lowest as (
     -- Numbers below zero tell these batches from the carved ones.
     select least(0, (select min(seq) from sluice.batch where operation_id = $1),
       (select min(seq) from sluice.batch_history where operation_id = $1)) as seq
   ), added as (
     insert into sluice.batch (id, operation_id, seq, lower_key, upper_key, checkpoint, state, sub_batch_size, pass)
     select gen_random_uuid(), (select id from target), l.seq - row_number() over (), r.lower_key, r.upper_key,
       r.lower_key, 'ready', 100, 1
     from ranges r, lowest l
     returning 1
   )
   select t.id, (select count(*) from added)::int as ranges
   from target t`,
  (p) => [p.id, p.actor, p.reason, p.from],
)
