import type { ErrorRecord } from '../../std/error-record.ts'
import { statement } from '../statement.ts'

/**
 * What tells one failure of the dead job `d` of class `c` from another: its name, the kind of error, and the message
 * without what differs from job to job (ids, numbers, quoted values).
 */
export const fingerprint = `md5(concat_ws(E'\\n', c.name, d.outcome, d.error ->> 'name', d.error ->> 'code',
       regexp_replace(left(coalesce(d.error ->> 'message', d.reason), 400),
         '"[^"]*"|''[^'']*''|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|[0-9]+', '#', 'g')))`

/** Jobs that ended without success in the same way. */
export interface FailureGroup {
  fingerprint: string
  name: string
  queue: string
  state: 'dead' | 'discarded' | 'cancelled' | 'quarantined'
  jobs: number
  /** The error of the latest. */
  error: ErrorRecord | null
  reason: string
  firstAt: Date
  lastAt: Date
  latestId: number
  /** Jobs per hour of the last day, oldest first. */
  perHour: number[]
}

/** The latest so many of them, grouped; the largest group first. */
export const failureGroups = statement<{ states: readonly string[]; latest: number; limit: number }, FailureGroup>(
  'job.failureGroups',
  `with latest as (
     select d.*
     from sluice.job_dead d
     where d.outcome = any($1)
     order by d.id desc
     limit $2
   ), marked as (
     select d.id, d.outcome, d.error, d.reason, d.finished_at, d.queue_id, c.name, ${fingerprint} as fingerprint,
       24 - ceil(extract(epoch from clock_timestamp() - d.finished_at) / 3600)::int as hour
     from latest d
     join sluice.job_class c on c.id = d.class_id
   ), hourly as (
     select fingerprint, jsonb_object_agg(hour, n) as hours
     from (select fingerprint, hour, count(*) as n from marked where hour >= 0 group by fingerprint, hour) h
     group by fingerprint
   ), grouped as (
     select fingerprint, min(name) as name, min(outcome) as state, count(*)::int as jobs, min(finished_at) as "firstAt",
       max(finished_at) as "lastAt", max(id) as "latestId"
     from marked
     group by fingerprint
   )
   select g.*, m.error, m.reason, q.name as queue,
     array(select coalesce((h.hours ->> s::text)::int, 0) from generate_series(0, 23) s) as "perHour"
   from grouped g
   join marked m on m.id = g."latestId"
   join sluice.queue q on q.id = m.queue_id
   left join hourly h on h.fingerprint = g.fingerprint
   order by g.jobs desc, g."lastAt" desc
   limit $3`,
  (p) => [p.states, p.latest, p.limit],
)
