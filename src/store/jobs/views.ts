import type { JobState, LockView } from '../../jobs/status.ts'
import type { ErrorRecord } from '../../std/error-record.ts'
import type { Json } from '../../std/json.ts'
import type { StoreConnection } from '../connection.ts'
import { list, statement } from '../statement.ts'

/** A job wherever it is. */
export interface JobView {
  id: number
  name: string
  queue: string
  state: JobState
  priority: 'high' | 'normal' | 'low' | null
  attempt: number
  crashes: number
  /** Null for jobs that succeeded: their args are not kept. */
  args: Json | null
  tags: string[] | null
  key: string | null
  /** No running worker knows its name. */
  parked: boolean
  worker_id: string | null
  reason: string | null
  error: ErrorRecord | null
  enqueued_at: Date
  run_at: Date | null
  finished_at: Date | null
  wait_ms: number | null
  run_ms: number | null
  /** Where it stands in its list: its id, or the microsecond in which it succeeded. */
  cursor: number
}

const priority = (column: string): string => `(array['high', 'normal', 'low'])[${column} + 1]`

/** Who has claimed the job `j`: new jobs are on the list of their claim, others are marked. */
const claimedBy = `(select k.worker_id from sluice.job_claim k
       where k.id = j.claim_id or (j.state = 0 and k.job_ids @> j.id) limit 1)`

export const liveState = `case when j.claim_id is not null or (j.state = 0 and l.ids @> j.id) then 'running' when j.state in (2, 3) then 'scheduled'
       when j.state = 1 then 'blocked' else 'waiting' end`

export const liveColumns = `j.id, c.name, q.name as queue, ${liveState} as state, ${priority('j.priority')} as priority,
     case when j.state = 0 and l.ids @> j.id then 1 else j.attempt end as attempt, j.crashes,
     j.args, j.tags, j.key, not exists (select from sluice.worker w where c.name = any(w.jobs)
       and w.seen_at > clock_timestamp() - interval '2 minutes') as parked,
     ${claimedBy} as worker_id, null::text as reason,
     null::jsonb as error, coalesce(j.enqueued_at, j.run_at) as enqueued_at, j.run_at, null::timestamptz as finished_at,
     null::integer as wait_ms, null::integer as run_ms, j.id as cursor`

const listed = `(select coalesce(range_agg(r), '{}') as ids from sluice.job_claim k, unnest(k.job_ids) r)`

export const liveFrom = `from ${listed} l
   cross join sluice.job j
   join sluice.job_class c on c.id = j.class_id
   join sluice.queue q on q.id = j.queue_id`

export const deadColumns = `d.id, c.name, q.name as queue, d.outcome as state, ${priority('d.priority')} as priority, d.attempt, d.crashes, d.args,
     d.tags, d.key, false as parked, null::uuid as worker_id, d.reason, d.error, d.enqueued_at,
     null::timestamptz as run_at, d.finished_at, null::integer as wait_ms, null::integer as run_ms, d.id as cursor`

export const doneColumns = `h.id, c.name, q.name as queue, 'succeeded' as state, null::text as priority, h.attempt, 0::smallint as crashes,
     null::jsonb as args, null::text[] as tags, null::text as key, false as parked, null::uuid as worker_id,
     null::text as reason, null::jsonb as error, h.enqueued_at, null::timestamptz as run_at, h.finished_at, h.wait_ms,
     h.run_ms, (extract(epoch from h.finished_at) * 1000000)::bigint as cursor`

export const deadFrom = `from sluice.job_dead d
   join sluice.job_class c on c.id = d.class_id
   join sluice.queue q on q.id = d.queue_id`

export const doneFrom = `from sluice.job_history h
   join sluice.job_class c on c.id = h.class_id
   join sluice.queue q on q.id = h.queue_id`

/** How many days of ended jobs one statement reads: each day is a partition, and reading it locks its indexes, too. */
const daysPerLook = 7
const dayMs = 86_400_000

/** One job, live or ended: the latest days first, because that is what people ask for. */
export async function findJob(connection: StoreConnection, { id }: { id: number }): Promise<JobView | undefined> {
  const [live] = await findLive(connection, { id })
  if (live !== undefined) return live
  const [days] = await endedDays(connection)
  let to: string | null = null
  for (let toMs = days?.now_ms ?? 0; toMs > (days?.oldest_ms ?? Infinity); toMs -= daysPerLook * dayMs) {
    const from = new Date(toMs - daysPerLook * dayMs).toISOString()
    const [ended] = await findEnded(connection, { id, from, to })
    if (ended !== undefined) return ended
    to = from
  }
  // It may have been taken up again meanwhile.
  return (await findLive(connection, { id }))[0]
}

const findLive = statement<{ id: number }, JobView>(
  'job.findLive',
  `select ${liveColumns} ${liveFrom} where j.id = $1`,
  ({ id }) => [id],
)

/** The server's time, and when the oldest day of ended jobs began. */
const endedDays = statement<void, { now_ms: number; oldest_ms: number | null }>(
  'job.endedDays',
  `select date_part('epoch', clock_timestamp()) * 1000 as now_ms,
     date_part('epoch', min(to_date(right(c.relname, 8), 'YYYYMMDD'))) * 1000 as oldest_ms
   from pg_inherits i
   join pg_class c on c.oid = i.inhrelid
   where i.inhparent in ('sluice.job_dead'::regclass, 'sluice.job_history'::regclass) and c.relname ~ '_[0-9]{8}$'`,
  () => [],
)

const findEnded = statement<{ id: number; from: string; to: string | null }, JobView>(
  'job.findEnded',
  `select ${deadColumns} ${deadFrom}
   where d.id = $1 and d.finished_at >= $2::timestamptz and d.finished_at < coalesce($3::timestamptz, 'infinity')
   union all
   select ${doneColumns} ${doneFrom}
   where h.id = $1 and h.finished_at >= $2::timestamptz and h.finished_at < coalesce($3::timestamptz, 'infinity')
   limit 1`,
  ({ id, from, to }) => [id, from, to],
)

/** Which of these jobs ended without success since a moment: a week of days at a time, as `findJob` does. */
export async function deadAmong(
  connection: StoreConnection,
  { ids, since }: { ids: readonly number[]; since: Date },
): Promise<Set<number>> {
  const dead = new Set<number>()
  const [days] = await endedDays(connection)
  const nowMs = days?.now_ms ?? 0
  const firstMs = Math.max(since.getTime(), days?.oldest_ms ?? Infinity)
  for (let fromMs = firstMs; fromMs <= nowMs; fromMs += daysPerLook * dayMs) {
    const toMs = fromMs + daysPerLook * dayMs
    const to = toMs > nowMs ? null : new Date(toMs).toISOString()
    for (const { id } of await findDead(connection, { ids, from: new Date(fromMs).toISOString(), to })) dead.add(id)
  }
  return dead
}

const findDead = statement<{ ids: readonly number[]; from: string; to: string | null }, { id: number }>(
  'job.findDead',
  `select d.id
   from sluice.job_dead d
   where d.id = any($1::bigint[]) and d.finished_at >= $2::timestamptz
     and d.finished_at < coalesce($3::timestamptz, 'infinity')`,
  ({ ids, from, to }) => [list(ids), from, to],
)

/** Whether a job has not ended yet. */
export const isLive = statement<{ id: number }, { live: boolean }>(
  'job.isLive',
  `select exists (select from sluice.job where id = $1) as live`,
  ({ id }) => [id],
)

/** An attempt that did not succeed. */
export interface AttemptView {
  attempt: number
  verdict: string
  reason: string
  error: ErrorRecord | null
  at: Date
  next_at: Date | null
  run_ms: number | null
  worker_id: string | null
}

/** Of the days of its life, and one more at each end for clocks that differ. */
export const attemptsOf = statement<Pick<JobView, 'id' | 'enqueued_at' | 'finished_at'>, AttemptView>(
  'job.attempts',
  `select attempt, verdict, reason, error, at, next_at, run_ms, worker_id
   from sluice.job_attempt
   where job_id = $1 and at >= $2::timestamptz and at < coalesce($3::timestamptz, 'infinity')
   order by at
   limit 1000`,
  (job) => [
    job.id,
    new Date(job.enqueued_at.getTime() - dayMs).toISOString(),
    job.finished_at === null ? null : new Date(job.finished_at.getTime() + dayMs).toISOString(),
  ],
)

/** A queue with what waits in it. */
export interface QueueView {
  name: string
  paused: boolean
  paused_by: string | null
  rate_limit: number | null
  rate_ms: number | null
  waiting: number
  scheduled: number
  blocked: number
  running: number
  /** Jobs whose name no running worker knows. */
  parked: number
  /** There are so many that some pages of the table were counted for all. */
  estimated: boolean
  oldest_ms: number | null
}

/** All queues, at a cost that does not grow with them. */
export const listQueues = statement<void, QueueView>(
  'queue.list',
  `select q.name, q.paused, q.paused_by, q.rate_limit, q.rate_ms, n.waiting, n.scheduled, n.blocked, n.running, n.parked,
     n.estimated, n.oldest_ms
   from sluice.queue q
   join sluice.queue_counts() n on n.queue = q.name
   order by q.name`,
  () => [],
)

export const listLocks = statement<{ name: string | null; limit: number }, LockView>(
  'job.locks',
  `select c.name, l.key, l.job_id, case l.until when 0 then 'start' else 'success' end as until,
     nullif(l.expires_at, 'infinity') as expires_at
   from sluice.job_lock l
   join sluice.job_class c on c.id = l.class_id
   where $1::text is null or c.name = $1
   order by l.job_id desc
   limit $2`,
  (p) => [p.name, p.limit],
)

/** A worker with a sign of life. */
export interface WorkerView {
  id: string
  host: string
  pid: number
  version: string
  operations: string[]
  jobs: string[]
  sweeps: string[]
  queues: string[]
  concurrency: number
  running: number
  batches: number
  /** Rows that it has claimed for its sweeps. */
  rows: number
  /** What it works on now, by name, at most ten of them; `oldestMs`: since it claimed the first of these jobs, or since the batch was carved. */
  works_on: { kind: 'job' | 'operation'; name: string; count: number; oldestMs: number }[]
  /** Since when it is asked to end, and by whom; null: it is not. */
  drain_since: Date | null
  drain_by: string | null
  /** Memory of its process, and how late its event loop was at the worst between two signs of life; null: unknown. */
  memory_bytes: number | null
  loop_lag_ms: number | null
  started_at: Date
  seen_ms: number
}

export const listWorkers = statement<void, WorkerView>(
  'worker.list',
  `select w.id, w.host, w.pid, w.version, w.operations, w.jobs, w.sweeps, w.queues, w.concurrency,
     (select count(*) from sluice.job_claim k
      cross join lateral unnest(k.job_ids) r
      join sluice.job j on j.id >= lower(r) and j.id < upper(r) and (j.claim_id = k.id or j.state = 0)
      where k.worker_id = w.id) as running,
     (select count(*) from sluice.batch b where b.worker_id = w.id) as batches,
     (select count(*) from unnest(w.sweeps) s(name)
      join sluice.sweep_claim c on c.sweep = s.name and c.worker_id = w.id) as rows,
     (select coalesce(jsonb_agg(o order by o.kind, o.name), '[]') from (
        select 'job' as kind, c.name, count(*) as count,
          round(1000 * extract(epoch from clock_timestamp() - min(k.claimed_at))) as "oldestMs"
        from sluice.job_claim k
        cross join lateral unnest(k.job_ids) r
        join sluice.job j on j.id >= lower(r) and j.id < upper(r) and (j.claim_id = k.id or j.state = 0)
        join sluice.job_class c on c.id = j.class_id
        where k.worker_id = w.id
        group by c.name
        union all
        select 'operation', p.name, count(*),
          round(1000 * extract(epoch from clock_timestamp() - min(b.created_at)))
        from sluice.batch b
        join sluice.operation p on p.id = b.operation_id
        where b.worker_id = w.id
        group by p.name
        limit 10) o) as works_on,
     w.drain_since, w.drain_by, w.memory_bytes, w.loop_lag_ms,
     w.started_at, round(1000 * extract(epoch from clock_timestamp() - w.seen_at))::bigint as seen_ms
   from sluice.worker w
   order by w.started_at, w.id`,
  () => [],
)
