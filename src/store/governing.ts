import { freeJson, freeText } from './free-text.ts'
import { statement } from './statement.ts'

/**
 * Stops an operation for a while because of the database's health. One that is still queued stays so, and leaves its
 * table to others.
 */
export const holdGoverned = statement<{ id: string; reason: string; waitMs: number }, { until: Date }>(
  'operation.holdGoverned',
  `update sluice.operation
   set status = case when status = 'queued' then 'queued' else 'held' end, reason = $2, status_actor = null,
     hold_until = clock_timestamp() + $3 * interval '1 millisecond'
   where id = $1
     and status in ('queued', 'active', 'verifying')
   returning hold_until as until`,
  (p) => [p.id, freeText(p.reason), p.waitMs],
)

/** Ends a hold before its time; one that somebody else has put on meanwhile, for another reason, stays. */
export const endGoverned = statement<{ id: string; reason: string }, { id: string }>(
  'operation.endGoverned',
  `update sluice.operation
   set status = case when status = 'queued' then 'queued' when pass > 1 then 'verifying' else 'active' end,
     reason = null, hold_until = null
   where id = $1
     and reason = $2
     and (status = 'held' or (status = 'queued' and hold_until is not null))
   returning id`,
  (p) => [p.id, freeText(p.reason)],
)

/**
 * Writes down what limits an operation. Nothing limits it: only who said so last, or anybody after a while, may take
 * it back.
 */
export const noteLimiter = statement<{ id: string; by: string; limiter: object | null }, { id: string }>(
  'operation.noteLimiter',
  `update sluice.operation
   set limiter = $3::text::jsonb, limited_at = clock_timestamp(), limited_by = $2
   where id = $1
     and ($3::text is not null
       or limiter is not null and (limited_by = $2 or limited_at < clock_timestamp() - interval '15 seconds'))
   returning id`,
  (p) => [p.id, p.by, p.limiter === null ? null : freeJson(p.limiter)],
)

/**
 * The smallest transaction that has to wait for the disk. Locking a row writes to the log what no logical replication
 * reads; a message in the log would reach everybody who decodes it.
 */
export const smallCommit = statement<void, object>(
  'governing.smallCommit',
  `select from sluice.budget where kind = 'rows' for key share`,
  () => [],
)

/** Writes down how many transactions a worker has in a second, and gives those of the others that are alive. */
export const shareTransactions = statement<{ workerId: string; perSecond: number }, { peers: number }>(
  'worker.shareTransactions',
  `with told as (
     update sluice.worker
     set transactions = $2
     where id = $1
   )
   select coalesce(sum(w.transactions), 0)::float8 as peers
   from sluice.worker w
   where w.id <> $1 and w.seen_at > clock_timestamp() - interval '1 minute'`,
  ({ workerId, perSecond }) => [workerId, perSecond],
)

/** What an operation with automatic lanes has, and how far it has come. */
export interface LaneView {
  lanes: number
  most_lanes: number
  rows_seen: number
  running: number
  /** Since the number of lanes last changed. */
  since_ms: number
}

export const lanesOf = statement<{ id: string }, LaneView>(
  'operation.lanesOf',
  `select o.lanes, o.most_lanes, o.rows_seen + coalesce(sum(b.rows_seen), 0)::bigint as rows_seen,
     count(b.id) filter (where b.state = 'running')::int as running,
     round(1000 * extract(epoch from clock_timestamp() - o.lanes_at))::bigint as since_ms
   from sluice.operation o
   left join sluice.batch b on b.operation_id = o.id
   where o.id = $1 and o.most_lanes is not null
   group by o.id`,
  ({ id }) => [id],
)

/** Changes the number of lanes, unless another process has just done so. */
export const setLanes = statement<{ id: string; from: number; to: number }, { id: string }>(
  'operation.setLanes',
  `update sluice.operation
   set lanes = $3, lanes_at = clock_timestamp()
   where id = $1 and most_lanes is not null and lanes = $2
   returning id`,
  (p) => [p.id, p.from, p.to],
)

/**
 * Takes from a budget what has been used, and tells how long to wait until it is paid for. The bucket fills by the
 * database's clock, holds no more than `burst`, and may go below zero: who comes later waits longer.
 */
export const spend = statement<
  { kind: 'rows' | 'wal'; used: number; perSecond: number; burst: number },
  { wait_ms: number }
>(
  'budget.spend',
  `update sluice.budget b
   set tokens = least($4::float8, b.tokens + $3::float8 * greatest(0, extract(epoch from n.now - b.filled_at))) - $2::float8, filled_at = n.now
   from (select clock_timestamp() as now) n
   where b.kind = $1
   returning greatest(0, -1000 * b.tokens / $3::float8) as wait_ms`,
  (p) => [p.kind, p.used, p.perSecond, p.burst],
)
