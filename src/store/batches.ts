import type { ErrorRecord } from '../std/error-record.ts'
import type { Key } from './operations.ts'
import { freeJson } from './free-text.ts'
import { statement } from './statement.ts'

/** Proof of ownership of a batch. Every change to the batch compares the nonce; a stale one changes nothing. */
export interface Claim {
  batchId: string
  nonce: string
}

/** A leased batch, with what is needed to work on it. */
export interface ClaimedBatch {
  id: string
  nonce: string
  worker_id: string
  operation_id: string
  seq: number
  pass: number
  lower_key: Key | null
  upper_key: Key
  checkpoint: Key | null
  sub_batch_size: number
  errors: number
  crashes: number
}

/**
 * The operation of a batch ($1), locked. Whoever needs the locks of both takes this one first: in different orders two
 * of them would wait for each other.
 */
export const operationFirst = `operation_first as materialized (
     select o.id
     from sluice.operation o
     where o.id = (select c.operation_id from sluice.batch c where c.id = $1)
     for update
   )`

export const claimColumns = `b.id, b.nonce, b.worker_id, b.operation_id, b.seq, b.pass, b.lower_key, b.upper_key,
     b.checkpoint, b.sub_batch_size, b.errors, b.crashes`

export interface FinishedBatch {
  rows_seen: number
  rows_changed: number
  sub_batches: number
  busy_ms: number
}

/** Sizes that were found good; null: leave what is there. */
export interface FoundSizes {
  carveSize: number | null
  tunedSize: number | null
}

/** Moves a done batch to history, adds its counters to the operation, and leaves the sizes for the next batch. */
export const finish = statement<Claim & FoundSizes, FinishedBatch>(
  'batch.finish',
  `with ${operationFirst}, done as (
     delete from sluice.batch b
     using operation_first f
     where b.operation_id = f.id and b.id = $1 and b.nonce = $2 and b.state = 'running'
     returning b.*
   ), moved as (
     insert into sluice.batch_history
       (id, operation_id, seq, lower_key, upper_key, checkpoint, pass, outcome, nonce, worker_id, errors, crashes,
        last_error, rows_seen, rows_matched, rows_changed, rows_quarantined, sub_batches, busy_ms, created_at,
        finished_at)
     select id, operation_id, seq, lower_key, upper_key, checkpoint, pass, 'finished', nonce, worker_id, errors, crashes,
       last_error, rows_seen, rows_matched, rows_changed, rows_quarantined, sub_batches, busy_ms, created_at,
       clock_timestamp()
     from done
   )
   update sluice.operation o
   set rows_seen = o.rows_seen + d.rows_seen, rows_matched = o.rows_matched + d.rows_matched,
     rows_changed = o.rows_changed + d.rows_changed, rows_quarantined = o.rows_quarantined + d.rows_quarantined,
     sub_batches = o.sub_batches + d.sub_batches, busy_ms = o.busy_ms + d.busy_ms,
     batches_finished = o.batches_finished + 1,
     carve_size = case when o.tunes_batches then coalesce($3, o.carve_size) else o.carve_size end,
     tuned_size = case when o.tuned_size is not null then coalesce($4, o.tuned_size) end
   from done d
   where o.id = d.operation_id
   returning d.rows_seen, d.rows_changed, d.sub_batches, d.busy_ms`,
  (p) => [p.batchId, p.nonce, p.carveSize, p.tunedSize],
)

/** Whether this claim finished the batch: asked when the answer to `finish` was lost. */
export const finishedBy = statement<Claim & { operationId: string; seq: number }, FinishedBatch>(
  'batch.finishedBy',
  `select rows_seen, rows_changed, sub_batches, busy_ms
   from sluice.batch_history
   where operation_id = $3 and seq = $4 and nonce = $2 and id = $1`,
  (p) => [p.batchId, p.nonce, p.operationId, p.seq],
)

/** Gives a batch back at its checkpoint; a stopping worker is neither an error nor a crash. */
export const release = statement<Claim, { id: string }>(
  'batch.release',
  `update sluice.batch
   set state = 'ready', nonce = null, worker_id = null, lease_until = null, ready_at = clock_timestamp()
   where id = $1 and nonce = $2 and state = 'running'
   returning id`,
  (c) => [c.batchId, c.nonce],
)

/**
 * Gives a batch back after an error, to be tried again when `waitMs` have passed. Only an error that points at the
 * batch itself counts against it.
 */
export const retry = statement<Claim & { error: ErrorRecord; waitMs: number; counts: boolean }, { id: string }>(
  'batch.retry',
  `update sluice.batch
   set state = 'ready', nonce = null, worker_id = null, lease_until = null,
     ready_at = clock_timestamp() + $4 * interval '1 millisecond', errors = errors + $5::boolean::int,
     last_error = $3::text::jsonb
   where id = $1 and nonce = $2 and state = 'running'
   returning id`,
  (p) => [p.batchId, p.nonce, freeJson(p.error), p.waitMs, p.counts],
)

/**
 * Tells which claims of one process are still its own, and extends the leases of those whose work moves. A row that
 * its own sub-batch has locked is left alone, because the checkpoint extends that lease itself: renewing must not wait
 * for users' work.
 */
export const renew = statement<{ claims: readonly (Claim & { moving: boolean })[]; leaseMs: number }, { id: string }>(
  'batch.renew',
  `with own as materialized (
     select b.id, c.moving
     from sluice.batch b
     join unnest($1::uuid[], $2::uuid[], $3::boolean[]) as c(id, nonce, moving) on c.id = b.id and c.nonce = b.nonce
     where b.state = 'running'
   ), free as materialized (
     select b.id, b.nonce
     from sluice.batch b
     join own on own.id = b.id
     where own.moving
     for update of b skip locked
   ), renewed as (
     update sluice.batch b
     set lease_until = clock_timestamp() + $4 * interval '1 millisecond'
     from free
     where b.id = free.id
       and b.nonce = free.nonce
   )
   select id from own`,
  ({ claims, leaseMs }) => [
    claims.map((c) => c.batchId),
    claims.map((c) => c.nonce),
    claims.map((c) => c.moving),
    leaseMs,
  ],
)

/** Frees batches whose lease has run out. Any worker does it; rows that are just being worked on are skipped. */
export const rescue = statement<void, { id: string; operation_id: string; worker_id: string; crashes: number }>(
  'batch.rescue',
  `with expired as materialized (
     select id, worker_id
     from sluice.batch
     where state = 'running' and lease_until < clock_timestamp()
     order by lease_until
     limit 100
     for update skip locked
   )
   update sluice.batch b
   set state = 'ready', nonce = null, worker_id = null, lease_until = null, ready_at = clock_timestamp(),
     crashes = case when b.crash_checkpoint is not distinct from b.checkpoint then b.crashes + 1 else 1 end,
     crash_checkpoint = b.checkpoint, crash_nonce = b.nonce
   from expired e
   where b.id = e.id
     and b.state = 'running'
     and b.lease_until < clock_timestamp()
   returning b.id, b.operation_id, e.worker_id, b.crashes`,
  () => [],
)

/**
 * Takes back what a rescue has counted: whoever says this was cut off, not dead. Only the claim that was rescued last
 * can say so, and once.
 */
export const survived = statement<Claim, { crashes: number }>(
  'batch.survived',
  `update sluice.batch
   set crashes = crashes - 1, crash_nonce = null
   where id = $1 and crash_nonce = $2 and crashes > 0
   returning crashes`,
  (c) => [c.batchId, c.nonce],
)
