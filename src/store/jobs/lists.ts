import type { JobFilter } from '../../jobs/query.ts'
import { statement } from '../statement.ts'
import { fingerprint } from './failures.ts'
import {
  deadColumns,
  deadFrom,
  doneColumns,
  doneFrom,
  liveColumns,
  liveFrom,
  liveState,
  type JobView,
} from './views.ts'

const named = `($2::text is null or c.name = $2) and ($3::text is null or q.name = $3)`

/** What a filter says, in the order of the parameters of all that follows. */
const asked = (f: JobFilter): unknown[] => [f.states, f.name, f.queue, f.tag, f.before, f.limit, f.args]

const liveWhere = `where ${liveState} = any($1) and ${named} and ($4::text is null or j.tags @> array[$4])
     and ($5::bigint is null or j.id < $5) and ($7::jsonb is null or j.args @> $7)`

const deadWhere = `where d.outcome = any($1) and ${named} and ($4::text is null or d.tags @> array[$4])
     and ($5::bigint is null or d.id < $5) and ($7::jsonb is null or d.args @> $7)
     and ($8::text is null or ${fingerprint} = $8)`

const doneWhere = `where 'succeeded' = any($1) and $4::text is null and $7::jsonb is null
     and ($2::text is null or h.class_id = (select id from sluice.job_class where name = $2))
     and ($3::text is null or h.queue_id = (select id from sluice.queue where name = $3))
     and h.finished_at > statement_timestamp() - $8 * interval '1 millisecond'
     and h.finished_at < coalesce(timestamptz 'epoch' + $5 * interval '1 microsecond', 'infinity')`

/** Unfinished jobs, latest first. */
export const listLive = statement<JobFilter, JobView>(
  'job.listLive',
  `select ${liveColumns} ${liveFrom} ${liveWhere} order by j.id desc limit $6`,
  asked,
)

/** Jobs that ended without success, latest first. */
export const listDead = statement<JobFilter, JobView>(
  'job.listDead',
  `select ${deadColumns} ${deadFrom} ${deadWhere} order by d.id desc limit $6`,
  (f) => [...asked(f), f.fingerprint],
)

/**
 * Jobs that succeeded since a moment, the last to end first; with all that ended in the same microsecond as the last of
 * them. Tags and args are not kept of these.
 */
export const listDone = statement<JobFilter, JobView>(
  'job.listDone',
  `select ${doneColumns} ${doneFrom} ${doneWhere} order by h.finished_at desc fetch first $6 rows with ties`,
  (f) => [...asked(f), f.withinMs],
)

/** How many there are, up to the limit: to count on would cost more, the more there are. */
export const countLive = statement<JobFilter, { jobs: number }>(
  'job.countLive',
  `select count(*)::int as jobs from (select ${liveFrom} ${liveWhere} limit $6) s`,
  asked,
)

export const countDead = statement<JobFilter, { jobs: number }>(
  'job.countDead',
  `select count(*)::int as jobs from (select ${deadFrom} ${deadWhere} limit $6) s`,
  (f) => [...asked(f), f.fingerprint],
)

export const countDone = statement<JobFilter, { jobs: number }>(
  'job.countDone',
  `select count(*)::int as jobs from (select ${doneFrom} ${doneWhere} limit $6) s`,
  (f) => [...asked(f), f.withinMs],
)
