import { statement } from './statement.ts'

/** An alert: which rule, about what, and since when it is as it is. */
export interface Alert {
  rule: string
  /** The queue, operation or schedule that it is about. */
  subject: string
  firing: boolean
  severity: 'warning' | 'critical'
  message: string
  value: number | null
  threshold: number | null
  since: Date
}

/** Where a rule stands about something, after a look. */
export interface AlertStanding extends Omit<Alert, 'since'> {
  /** Looks in a row that spoke for a change. */
  streak: number
}

/**
 * Lets one process judge at a time; who comes meanwhile leaves it to the other. For the rest of the transaction. A row
 * that a restore has left out is made again.
 */
export const lockAlerts = statement<void, { locked: boolean }>(
  'alert.lock',
  `with made as (
     insert into sluice.alert_turn default values on conflict do nothing returning id
   ), taken as (
     select id from sluice.alert_turn where id for update skip locked
   )
   select exists (select from made union all select from taken) as locked`,
  () => [],
)

const standing = `rule, subject, firing, severity, message, value, threshold`

/** Alerts that fire, or with `all` also those that are over; latest first. */
export const listAlerts = statement<{ all: boolean }, Alert>(
  'alert.list',
  `select ${standing}, changed_at as since
   from sluice.alert
   where firing or ($1 and changed_at > '-infinity')
   order by firing desc, changed_at desc, rule, subject`,
  ({ all }) => [all],
)

/** Where all rules stand, also those that have never fired. */
export const alertStandings = statement<void, AlertStanding>(
  'alert.standings',
  `select ${standing}, streak
   from sluice.alert
   order by rule, subject`,
  () => [],
)

/**
 * Writes down where rules stand; gives those that began or ended by that, with how long they had fired. What has never
 * fired has changed at no time.
 */
export const saveAlerts = statement<{ standings: readonly AlertStanding[] }, Alert & { after_ms: number }>(
  'alert.save',
  `with was as (
     select rule, subject, firing, changed_at from sluice.alert
   ), saved as (
     insert into sluice.alert as a (${standing}, streak, changed_at)
     select ${standing}, streak, case when firing then clock_timestamp() else '-infinity' end
     from jsonb_to_recordset($1::text::jsonb) s(rule text, subject text, firing boolean, severity text, message text,
       value double precision, threshold double precision, streak integer)
     order by rule, subject
     on conflict (rule, subject) do update
     set firing = excluded.firing, severity = excluded.severity, message = excluded.message, value = excluded.value,
       threshold = excluded.threshold, streak = excluded.streak, looked_at = clock_timestamp(),
       changed_at = case when a.firing <> excluded.firing then clock_timestamp() else a.changed_at end
     returning *
   )
   select s.rule, s.subject, s.firing, s.severity, s.message, s.value, s.threshold, s.changed_at as since,
     case when s.firing then 0 else round(1000 * extract(epoch from s.changed_at - w.changed_at)) end::bigint as after_ms
   from saved s
   left join was w on w.rule = s.rule and w.subject = s.subject
   where s.firing <> coalesce(w.firing, false)`,
  ({ standings }) => [JSON.stringify(standings)],
)

/** Forgets what has been well for a month. */
export const forgetAlerts = statement<void, { rule: string }>(
  'alert.forget',
  `delete from sluice.alert
   where not firing and looked_at < clock_timestamp() - interval '30 days'
   returning rule`,
  () => [],
)

/**
 * Takes one alert that changed and was not told elsewhere yet, for a minute: then somebody else may try. One that has
 * never fired is nothing to tell. One that somebody began to tell of may have been heard of, so its end is told, too.
 */
export const takeUntold = statement<void, Alert>(
  'alert.takeUntold',
  `update sluice.alert
   set telling_at = clock_timestamp()
   where (rule, subject) = (
     select rule, subject
     from sluice.alert
     where (told_at is null and (firing or telling_at is not null) or told_at < changed_at)
       and (telling_at is null or telling_at < clock_timestamp() - interval '1 minute' or telling_at < changed_at)
     order by changed_at, rule, subject
     limit 1
     for update skip locked)
   returning ${standing}, changed_at as since`,
  () => [],
)

/** Says that a change was told; a later one was not. */
export const noteTold = statement<Pick<Alert, 'rule' | 'subject' | 'since'>, { rule: string }>(
  'alert.noteTold',
  `update sluice.alert
   set told_at = changed_at, telling_at = null
   where rule = $1 and subject = $2 and date_trunc('milliseconds', changed_at) = $3
   returning rule`,
  (p) => [p.rule, p.subject, p.since],
)

/** What the rules have to know of operations that are not over. */
export const operationFacts = statement<
  { heldMs: number },
  { id: string; name: string; held_ms: number; paused_ms: number; quarantined: number }
>(
  'alert.operationFacts',
  `select o.id, o.name, coalesce(s.held_ms, 0)::bigint as held_ms,
     case when o.status = 'paused' then round(1000 * extract(epoch from clock_timestamp() - o.status_since)) else 0 end::bigint
       as paused_ms,
     coalesce(s.quarantined, 0)::bigint as quarantined
   from sluice.operation o
   left join lateral (
     select sum(hold_ms) filter (where at > clock_timestamp() - $1 * interval '1 millisecond') as held_ms,
       sum(quarantined) filter (where at > clock_timestamp() - interval '10 minutes') as quarantined
     from sluice.operation_sample_10s
     where operation_id = o.id and at > clock_timestamp() - greatest($1, 600000) * interval '1 millisecond') s on true
   order by o.id
   limit 1000`,
  ({ heldMs }) => [heldMs],
)

/** Operations that failed within a day and that nobody has taken up again: no run of that name has ended or begun since. */
export const failedOperations = statement<void, { id: string; name: string; error: string | null }>(
  'alert.failedOperations',
  `select h.id, h.name, h.error ->> 'message' as error
   from sluice.operation_history h
   where h.status = 'failed'
     and h.finished_at > now() - interval '1 day'
     and not exists (
       select from sluice.operation o where o.name = h.name and o.tenant is not distinct from h.tenant)
     and not exists (
       select from sluice.operation_history l
       where l.name = h.name and l.tenant is not distinct from h.tenant and l.finished_at > h.finished_at)
   order by h.id
   limit 1000`,
  () => [],
)

/** Schedules that are enabled, with how many of their last ticks in a row led to no success; what still runs is left out. */
export const scheduleFacts = statement<{ ticks: number }, { name: string; failed: number }>(
  'alert.scheduleFacts',
  `select s.name, coalesce(min(t.nth) filter (where not t.failed) - 1, count(t.nth))::int as failed
   from sluice.schedule s
   left join lateral (
     select row_number() over (order by k.tick desc) as nth,
       k.outcome <> 'started'
         or exists (select from sluice.job_dead d where d.id = k.job_id)
         or exists (select from sluice.operation_history h
              where h.id = k.operation_id and h.status in ('failed', 'cancelled')) as failed
     from (select tick, outcome, job_id, operation_id
       from sluice.schedule_tick
       where schedule = s.name
         and not exists (select from sluice.job j where j.id = job_id)
         and not exists (select from sluice.operation o where o.id = operation_id)
       order by tick desc
       limit $1) k) t on true
   where s.enabled
   group by s.name
   order by s.name`,
  ({ ticks }) => [ticks],
)
