import type { ErrorRecord } from '../std/error-record.ts'
import { operationFirst, type Claim } from './batches.ts'
import type { OperationRow } from './operations.ts'
import { freeJson, freeText } from './free-text.ts'
import { statement } from './statement.ts'

/** A verb of a person on one operation. */
export interface Verb {
  id: string
  /** Statuses from which the verb may act; the rest is left alone. */
  from: readonly string[]
  reason: string | null
  actor: string | null
}

const bindVerb = (v: Verb): unknown[] => [v.id, v.from, v.reason, v.actor]

/** Stops an operation: at once when nothing of it runs, else when its last running batch has been given back. */
export const pause = statement<Verb, { status: string }>(
  'operation.pause',
  `update sluice.operation o
   set status = case when exists (select from sluice.batch b where b.operation_id = o.id and b.state = 'running')
         then 'pausing' else 'paused' end,
     reason = $3, status_actor = $4, hold_until = null
   where o.id = $1 and o.status = any($2)
   returning o.status`,
  bindVerb,
)

/**
 * Lets a stopped or waiting operation go on at its checkpoints: in its place when it still has its table, else in the
 * queue. One that had only its second pass before it begins that. Whoever lets one go that waits for approval approves it.
 */
export const resume = statement<Verb, { status: string }>(
  'operation.resume',
  `with due as (
     update sluice.batch
     set ready_at = clock_timestamp()
     where operation_id = $1 and state = 'ready'
   )
   update sluice.operation o
   set status = case when o.status not in ('held', 'pausing') then 'queued'
         when o.pass > 1 then 'verifying' else 'active' end,
     approved = o.approved or o.status = 'awaiting_approval',
     reason = $3, status_actor = $4, hold_until = null,
     pass = case when second.begins then 2 else o.pass end,
     carve_end = case when second.begins then o.carved_to else o.carve_end end,
     carved_to = case when second.begins then o.lower_key else o.carved_to end,
     fully_carved = o.fully_carved and not second.begins,
     until = case when second.begins then 'end' else o.until end
   from (select p.id, p.verify and p.pass = 1 and p.fully_carved and p.carved_to is not null
           and not exists (select from sluice.batch b where b.operation_id = p.id) as begins
         from sluice.operation p) second
   where o.id = $1 and second.id = o.id and o.status = any($2)
   returning o.status`,
  bindVerb,
)

/** Ends an operation without finishing it: at once, or when its last running batch has been given back. */
export const cancel = statement<Verb, { status: string }>(
  'operation.cancel',
  `with asked as materialized (
     select o.id, exists (select from sluice.batch b where b.operation_id = o.id and b.state = 'running') as busy
     from sluice.operation o
     where o.id = $1 and o.status = any($2)
     for update
   ), stopping as (
     update sluice.operation o
     set status = 'cancelling', reason = $3, status_actor = $4, hold_until = null
     from asked
     where o.id = asked.id and asked.busy
     returning o.status
   )
   select status from stopping
   union all
   select 'cancelled'
   from asked
   where not busy and sluice.end_operation(id, 'cancelled', $3, null, $4)`,
  bindVerb,
)

/** Stops every run of a definition, also those started later; `again`: it was disabled before. */
export const disable = statement<
  { name: string; reason: string | null; actor: string | null },
  { name: string; again: boolean }
>(
  'operation.disable',
  `insert into sluice.disabled_operation (name, reason, actor)
   values ($1, $2, $3)
   on conflict (name) do update
   set reason = excluded.reason, actor = excluded.actor, disabled_at = clock_timestamp()
   returning name, xmax <> 0 as again`,
  (p) => [p.name, p.reason, p.actor],
)

export const enable = statement<{ name: string }, { name: string }>(
  'operation.enable',
  `delete from sluice.disabled_operation
   where name = $1
   returning name`,
  ({ name }) => [name],
)

/**
 * Stops an operation for a while; only the holder of one of its batches may do so. The claim is locked, too: it could
 * change hands while this statement waits for the operation's row.
 */
export const hold = statement<Claim & { reason: string; waitMs: number }, { until: Date }>(
  'operation.hold',
  `with ${operationFirst}, mine as materialized (
     select b.operation_id
     from sluice.batch b
     join operation_first f on f.id = b.operation_id
     where b.id = $1 and b.nonce = $2 and b.state = 'running'
     for update of b
   )
   update sluice.operation o
   set status = 'held', reason = $3, status_actor = null,
     hold_until = clock_timestamp() + $4 * interval '1 millisecond'
   from mine
   where o.id = mine.operation_id
     and o.status in ('active', 'verifying', 'held')
   returning o.hold_until as until`,
  (p) => [p.batchId, p.nonce, freeText(p.reason), p.waitMs],
)

/** Stops an operation for a while that could not be carved; nothing happens when somebody else could carve it. */
export const holdUncarved = statement<{ operation: OperationRow; reason: string; waitMs: number }, { until: Date }>(
  'operation.holdUncarved',
  `update sluice.operation
   set status = 'held', reason = $3, status_actor = null,
     hold_until = clock_timestamp() + $4 * interval '1 millisecond'
   where id = $1
     and carved_to is not distinct from $2::text[]
     and status in ('active', 'verifying')
   returning hold_until as until`,
  (p) => [p.operation.id, p.operation.carved_to, freeText(p.reason), p.waitMs],
)

/**
 * Stops an operation until its window opens; nothing happens when it has another window by now. One that is still
 * queued stays so, and leaves its table to others.
 */
export const holdClosed = statement<{ id: string; window: string; reason: string; until: Date }, { until: Date }>(
  'operation.holdClosed',
  `update sluice.operation
   set status = case when status = 'queued' then 'queued' else 'held' end, reason = $3, status_actor = null,
     hold_until = $4
   where id = $1 and run_window = $2
     and status in ('queued', 'active', 'verifying')
   returning hold_until as until`,
  (p) => [p.id, p.window, freeText(p.reason), p.until],
)

/** The circuit breaker: stops an operation until a person has looked. Only the holder of a batch may say so. */
export const trip = statement<Claim & { reason: string }, { id: string }>(
  'operation.trip',
  `with ${operationFirst}, mine as materialized (
     select b.operation_id
     from sluice.batch b
     join operation_first f on f.id = b.operation_id
     where b.id = $1 and b.nonce = $2 and b.state = 'running'
     for update of b
   )
   update sluice.operation o
   set status = 'pausing', reason = $3, status_actor = null
   from mine
   where o.id = mine.operation_id
     and o.status in ('active', 'verifying', 'held')
   returning o.id`,
  (p) => [p.batchId, p.nonce, freeText(p.reason)],
)

/** Lets operations go on whose hold has run out. */
export const endHolds = statement<void, { id: string }>(
  'operation.endHolds',
  `update sluice.operation
   set status = case when pass > 1 then 'verifying' else 'active' end, reason = null, hold_until = null
   where status = 'held' and hold_until <= clock_timestamp()
   returning id`,
  () => [],
)

/** What stops is stopped when nothing of it runs any more. */
export const settlePausing = statement<void, { id: string; name: string; reason: string | null }>(
  'operation.settlePausing',
  `update sluice.operation o
   set status = 'paused'
   where o.status = 'pausing'
     and not exists (select from sluice.batch b where b.operation_id = o.id and b.state = 'running')
   returning o.id, o.name, o.reason`,
  () => [],
)

export const settleCancelling = statement<void, { id: string; name: string }>(
  'operation.settleCancelling',
  `with stopped as materialized (
     select o.id, o.name, o.reason, o.status_actor
     from sluice.operation o
     where o.status = 'cancelling'
       and not exists (select from sluice.batch b where b.operation_id = o.id and b.state = 'running')
     for update skip locked
   )
   select id, name
   from stopped
   where sluice.end_operation(id, 'cancelled', reason, null, status_actor)`,
  () => [],
)

/** Sends operations whose rows can be looked for again on a second pass, once the first is done. */
export const beginVerifying = statement<{ names: string[] }, { id: string; name: string }>(
  'operation.beginVerifying',
  `update sluice.operation o
   set status = 'verifying', reason = null, status_actor = null, pass = o.pass + 1,
     carve_end = o.carved_to, carved_to = o.lower_key, fully_carved = false, until = 'end'
   where o.verify
     and o.pass = 1
     and o.status = 'active'
     and o.fully_carved
     and o.carved_to is not null
     and o.name = any($1)
     and not exists (select from sluice.batch b where b.operation_id = o.id)
   returning o.id, o.name`,
  ({ names }) => [names],
)

export interface Finished {
  id: string
  name: string
  status: 'finished' | 'finished_with_quarantine'
  rows_seen: number
  rows_changed: number
  rows_quarantined: number
  batches_finished: number
  elapsed_ms: number
}

/** Ends operations of which nothing is left to carve and no batch is left to do. */
export const finishDone = statement<{ names: string[] }, Finished>(
  'operation.finishDone',
  `with done as materialized (
     select o.*, case when o.rows_quarantined > 0 then 'finished_with_quarantine' else 'finished' end as outcome
     from sluice.operation o
     where o.fully_carved
       and (o.status = 'verifying'
         or (o.status in ('queued', 'active') and (not o.verify or o.pass > 1 or o.carved_to is null)))
       and o.name = any($1)
       and not exists (select from sluice.batch b where b.operation_id = o.id)
     for update skip locked
   ), marked as (
     insert into sluice.recurring_mark (fingerprint, key)
     select fingerprint, carved_to from done where carved_to is not null
     on conflict (fingerprint) do update set key = excluded.key, marked_at = clock_timestamp()
   )
   select id, name, outcome as status, rows_seen, rows_changed, rows_quarantined, batches_finished,
     round(1000 * extract(epoch from clock_timestamp() - coalesce(started_at, created_at)))::bigint as elapsed_ms
   from done
   where sluice.end_operation(id, outcome)`,
  ({ names }) => [names],
)

/** Ends an operation as failed, with all its batches; only the holder of one of its batches may say so. */
export const fail = statement<Claim & { error: ErrorRecord }, { id: string }>(
  'operation.fail',
  `with ${operationFirst}, mine as materialized (
     select b.operation_id
     from sluice.batch b
     join operation_first f on f.id = b.operation_id
     where b.id = $1 and b.nonce = $2 and b.state = 'running'
     for update of b
   )
   select operation_id as id
   from mine
   where sluice.end_operation(operation_id, 'failed', $3::text::jsonb ->> 'message', $3::text::jsonb, null, $1)`,
  ({ batchId, nonce, error }) => [batchId, nonce, freeJson(error)],
)

/** Ends an operation as failed that can never be carved further, once the batches that it has are done. */
export const failUncarved = statement<{ operation: OperationRow; error: ErrorRecord }, { id: string }>(
  'operation.failUncarved',
  `with stuck as materialized (
     select o.id
     from sluice.operation o
     where o.id = $1
       and o.carved_to is not distinct from $2::text[]
       and o.status in ('active', 'verifying')
       and not exists (select from sluice.batch b where b.operation_id = o.id)
     for update
   )
   select id
   from stuck
   where sluice.end_operation(id, 'failed', $3::text::jsonb ->> 'message', $3::text::jsonb)`,
  ({ operation, error }) => [operation.id, operation.carved_to, freeJson(error)],
)
