import type { StepOfRow } from '../../jobs/queue.ts'
import type { FailureGroup } from '../../jobs/status.ts'
import type { ErrorRecord } from '../../std/error-record.ts'
import { statement } from '../statement.ts'

/** What tells one failure of the dead job `d` of class `c` from another. */
export const fingerprint = `md5(c.name || E'\\n' || d.failure)`

/** The latest so many of them, grouped; the largest group first. */
export const failureGroups = statement<{ states: readonly string[]; latest: number; limit: number }, FailureGroup>(
  'job.failureGroups',
  `with latest as materialized (
     select d.id, d.outcome, d.class_id, d.failure, d.finished_at,
       24 - ceil(extract(epoch from clock_timestamp() - d.finished_at) / 3600)::int as hour
     from sluice.job_dead d
     where d.outcome = any($1)
     order by d.id desc
     limit $2
   ), hourly as (
     select class_id, failure, jsonb_object_agg(hour, n) as hours
     from (select class_id, failure, hour, count(*) as n
           from latest where hour >= 0 group by class_id, failure, hour) h
     group by class_id, failure
   ), grouped as (
     select class_id, failure, min(outcome) as state, count(*)::int as jobs, min(finished_at) as "firstAt",
       max(finished_at) as "lastAt", max(id) as "latestId"
     from latest
     group by class_id, failure
     order by jobs desc, "lastAt" desc
     limit $3
   )
   select ${fingerprint} as fingerprint, c.name, g.state, g.jobs, g."firstAt", g."lastAt", g."latestId", d.error, d.reason,
     q.name as queue, array(select coalesce((h.hours ->> s::text)::int, 0) from generate_series(0, 23) s) as "perHour"
   from grouped g
   join latest l on l.id = g."latestId"
   join sluice.job_dead d on d.id = l.id and d.finished_at = l.finished_at
   join sluice.job_class c on c.id = g.class_id
   join sluice.queue q on q.id = d.queue_id
   left join hourly h on h.class_id = g.class_id and h.failure = g.failure
   order by g.jobs desc, g."lastAt" desc`,
  (p) => [p.states, p.latest, p.limit],
)

/**
 * Which of these steps have ended with MACHINE_STATE since their row is in its state, each with such an error. A step
 * that a person has discarded counts as well; one that a person has retried is not in this table any more.
 */
export const unmovedSteps = statement<{ steps: readonly StepOfRow[] }, { at: number; error: ErrorRecord }>(
  'job.unmovedSteps',
  `select s.at, d.error
   from jsonb_to_recordset($1::text::jsonb) s(at integer, name text, args jsonb, since timestamptz)
   join sluice.job_class c on c.name = s.name
   cross join lateral (
     select d.error
     from sluice.job_dead d
     where d.class_id = c.id and d.error ->> 'code' = 'MACHINE_STATE'
       and jsonb_hash_extended(d.args, 0) = jsonb_hash_extended(s.args, 0) and d.args = s.args
       and d.finished_at >= coalesce(s.since, '-infinity')
     limit 1
   ) d`,
  ({ steps }) => [JSON.stringify(steps)],
)
