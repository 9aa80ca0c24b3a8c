import { freeText } from './free-text.ts'
import { statement } from './statement.ts'

/** A schedule as it is stored. */
export interface ScheduleRow {
  name: string
  rule: string
  zone: string
  target_kind: 'job' | 'operation'
  target: string
  missed: string
  overlap: 'skip' | 'queue' | 'allow'
  delay_ms: number
  deadline_ms: number | null
  run_window: string | null
  enabled: boolean
  disabled_by: string | null
  disabled_reason: string | null
  considered_to: Date
  last_job_id: number | null
  last_operation_id: string | null
  last_started_at: Date | null
  created_at: Date
  /** No worker that knows it has been there for a while. */
  parked: boolean
  /** The database's clock when this was read. */
  now: Date
}

/** What the code says about a schedule. */
export type NewSchedule = Pick<
  ScheduleRow,
  'name' | 'rule' | 'zone' | 'target_kind' | 'target' | 'missed' | 'overlap' | 'delay_ms' | 'deadline_ms' | 'run_window'
>

/** A schedule with its rule and zone, as the rows of workers that keep it say it. */
export function keptRule({ name, rule, zone }: Pick<NewSchedule, 'name' | 'rule' | 'zone'>): string {
  return `${name} ${rule} ${zone}`
}

/**
 * Records a schedule as the code has it. A new one, and one with a new rule, begins now: what it would have done
 * before is not made up for. A rule that the schedule had before comes back only when no worker is there that keeps the
 * one of now: a worker of the old release that starts again during a deploy must not undo what the new one has said, and
 * when all of those are gone, somebody has to keep it. Gives nothing when it leaves it alone.
 */
export const register = statement<NewSchedule & { by: 'worker' | 'person'; leaseMs: number }, { name: string }>(
  'schedule.register',
  `insert into sluice.schedule as s
     (name, rule, zone, target_kind, target, missed, overlap, delay_ms, deadline_ms, run_window, seen_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, case when $11 = 'worker' then clock_timestamp() else '-infinity' end)
   on conflict (name) do update
   set rule = excluded.rule, zone = excluded.zone, target_kind = excluded.target_kind, target = excluded.target,
     missed = excluded.missed, overlap = excluded.overlap, delay_ms = excluded.delay_ms,
     deadline_ms = excluded.deadline_ms, run_window = excluded.run_window,
     seen_at = greatest(s.seen_at, excluded.seen_at),
     considered_to = case when (s.rule, s.zone) is distinct from (excluded.rule, excluded.zone)
       then greatest(s.considered_to, clock_timestamp()) else s.considered_to end,
     past_rules = case when (s.rule, s.zone) is distinct from (excluded.rule, excluded.zone)
       then (array_remove(s.past_rules, excluded.rule || ' ' || excluded.zone) || (s.rule || ' ' || s.zone))
         [greatest(1, cardinality(s.past_rules) - 18) :]
       else s.past_rules end
   where $11 = 'person' or (s.rule, s.zone) = (excluded.rule, excluded.zone)
     or excluded.rule || ' ' || excluded.zone <> all(s.past_rules)
     or not exists (select from sluice.worker w
                    where s.name || ' ' || s.rule || ' ' || s.zone = any(w.rules)
                      and w.seen_at > clock_timestamp() - $12 * interval '1 millisecond')
   returning name`,
  (s) => [
    s.name,
    s.rule,
    s.zone,
    s.target_kind,
    s.target,
    s.missed,
    s.overlap,
    s.delay_ms,
    s.deadline_ms,
    s.run_window,
    s.by,
    s.leaseMs,
  ],
)

const columns = `s.name, s.rule, s.zone, s.target_kind, s.target, s.missed, s.overlap, s.delay_ms, s.deadline_ms,
     s.run_window, s.enabled, s.disabled_by, s.disabled_reason, s.considered_to, s.last_job_id, s.last_operation_id,
     s.last_started_at, s.created_at, s.seen_at < clock_timestamp() - interval '2 minutes' as parked,
     clock_timestamp() as now`

/** Schedules by name; null: all. */
export const list = statement<{ names: readonly string[] | null }, ScheduleRow>(
  'schedule.list',
  `select ${columns}
   from sluice.schedule s
   where $1::text[] is null or s.name = any($1)
   order by s.name`,
  ({ names }) => [names],
)

/** Locks a schedule in order to settle one of its ticks. No row: another worker is at it, or it has changed. */
export const lock = statement<{ name: string; rule: string; zone: string }, ScheduleRow>(
  'schedule.lock',
  `select ${columns}
   from sluice.schedule s
   where s.name = $1 and s.rule = $2 and s.zone = $3 and s.enabled
   for update skip locked`,
  (p) => [p.name, p.rule, p.zone],
)

/** Locks a schedule whatever it is like, for a run that a person asks for. */
export const lockAnyway = statement<{ name: string }, ScheduleRow>(
  'schedule.lockAnyway',
  `select ${columns}
   from sluice.schedule s
   where s.name = $1
   for update`,
  ({ name }) => [name],
)

/** Says that a worker is there that knows them. Whoever has a row locked says so anyway. */
export const sight = statement<{ names: readonly string[] }, { name: string }>(
  'schedule.sight',
  `with free as materialized (
     select name
     from sluice.schedule
     where name = any($1) and seen_at < clock_timestamp() - interval '20 seconds'
     for update skip locked
   )
   update sluice.schedule s
   set seen_at = clock_timestamp()
   from free
   where s.name = free.name
   returning s.name`,
  ({ names }) => [names],
)

/** A tick and what became of it. */
export interface TickRow {
  schedule: string
  tick: Date
  outcome: 'started' | 'skipped' | 'failed'
  reason: string | null
  job_id: number | null
  operation_id: string | null
  missed: number
  actor: string | null
  settled_at: Date
}

/** What is written about a tick. Without a moment: now, for a run that a person asked for. */
export type NewTick = Pick<
  TickRow,
  'schedule' | 'outcome' | 'reason' | 'job_id' | 'operation_id' | 'missed' | 'actor'
> & {
  tick: Date | null
}

/**
 * Settles a tick: its row, and how far its schedule has been considered, in one statement. Gives nothing when the tick
 * has a row: then somebody else has settled it.
 */
export const settle = statement<NewTick, { tick: Date }>(
  'schedule.settle',
  `with settled as (
     insert into sluice.schedule_tick (schedule, tick, outcome, reason, job_id, operation_id, missed, actor)
     values ($1, coalesce($2::timestamptz, clock_timestamp()), $3::text, $4, $5, $6, $7, $8)
     on conflict (schedule, tick) do nothing
     returning schedule, tick
   ), considered as (
     update sluice.schedule s
     set considered_to = greatest(s.considered_to, $2::timestamptz), seen_at = clock_timestamp(),
       last_job_id = case when $3::text = 'started' then $5::bigint else s.last_job_id end,
       last_operation_id = case when $3::text = 'started' then $6::uuid else s.last_operation_id end,
       last_started_at = case when $3::text = 'started' then clock_timestamp() else s.last_started_at end
     from settled
     where s.name = settled.schedule
   )
   select tick
   from settled`,
  (t) => [t.schedule, t.tick, t.outcome, freeText(t.reason), t.job_id, t.operation_id, t.missed, t.actor],
)

/** Says that ticks up to this one are settled. */
export const consider = statement<{ name: string; upTo: Date }, { name: string }>(
  'schedule.consider',
  `update sluice.schedule
   set considered_to = greatest(considered_to, $2::timestamptz)
   where name = $1
   returning name`,
  (p) => [p.name, p.upTo],
)

/** The ticks of some schedules that were settled, so many of each, latest first. */
export const listTicks = statement<{ names: readonly string[]; before: Date | null; limit: number }, TickRow>(
  'schedule.ticks',
  `select t.*
   from unnest($1::text[]) with ordinality s(name, nth)
   cross join lateral (
     select schedule, tick, outcome, reason, job_id, operation_id, missed, actor, settled_at
     from sluice.schedule_tick
     where schedule = s.name and tick < coalesce($2::timestamptz, 'infinity')
     order by tick desc
     limit $3) t
   order by s.nth, t.tick desc`,
  (p) => [p.names, p.before, p.limit],
)

/** Stops a schedule, or lets it go on; what it would have done meanwhile is not made up for. */
export const enable = statement<
  { name: string; enabled: boolean; actor: string | null; reason: string | null },
  { name: string }
>(
  'schedule.enable',
  `update sluice.schedule
   set considered_to = case when enabled then considered_to else greatest(considered_to, clock_timestamp()) end,
     enabled = $2, disabled_by = $3, disabled_reason = $4
   where name = $1
   returning name`,
  (p) => [p.name, p.enabled, p.actor, p.reason],
)

/** Makes sure that ticks have a partition to go to: this one, and those of the next weeks. */
export const createTickPartitions = statement<{ around: Date | null }, { created: number }>(
  'schedule.createPartitions',
  `select sluice.create_schedule_partitions(coalesce($1::timestamptz, clock_timestamp())) as created`,
  ({ around }) => [around],
)

/** Drops the partitions of ticks that are older than the retention. */
export const dropTickPartitions = statement<{ keepDays: number }, { dropped: number }>(
  'schedule.dropPartitions',
  `select sluice.drop_schedule_partitions($1) as dropped`,
  ({ keepDays }) => [keepDays],
)

/** Lets time pass for schedules: what they were considered up to lies so much further back. */
export const passTickTime = statement<{ names: readonly string[]; ms: number }, { name: string }>(
  'schedule.passTime',
  `update sluice.schedule
   set considered_to = considered_to - $2 * interval '1 millisecond'
   where name = any($1)
   returning name`,
  (p) => [p.names, p.ms],
)
