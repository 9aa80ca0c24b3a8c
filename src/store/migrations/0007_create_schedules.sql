-- Schedules, and the windows of operations. One row per schedule and one per tick; ticks go in partitions of seven
-- days, which retention drops.

create table sluice.schedule (
  name              text primary key,
  -- A cron pattern, or "every" and a time. A worker that has another rule or zone in its code leaves the row alone.
  rule              text not null,
  zone              text not null,
  -- What it had before, each as rule and zone, the latest last. A worker that still has one of these in its code is of an
  -- older release: it does not bring it back while workers are there that keep the rule of now.
  past_rules        text[] not null default '{}',
  target_kind       text not null check (target_kind in ('job', 'operation')),
  target            text not null,
  missed            text not null,
  overlap           text not null check (overlap in ('skip', 'queue', 'allow')),
  delay_ms          bigint not null,
  deadline_ms       bigint,
  run_window        text,
  enabled           boolean not null default true,
  disabled_by       text,
  disabled_reason   text,
  -- Ticks up to here are settled; later ones are not. The row is locked by whoever settles one.
  considered_to     timestamptz not null default clock_timestamp(),
  -- The last run, which may block the next one.
  last_job_id       bigint,
  last_operation_id uuid,
  last_started_at   timestamptz,
  created_at        timestamptz not null default clock_timestamp(),
  -- When a worker that knows it was last there.
  seen_at           timestamptz not null default clock_timestamp()
);

create table sluice.schedule_tick (
  schedule     text not null,
  tick         timestamptz not null,
  outcome      text not null check (outcome in ('started', 'skipped', 'failed')),
  reason       text,
  job_id       bigint,
  operation_id uuid,
  -- Ticks before this one that nobody was there for.
  missed       integer not null default 0,
  -- Who asked for it, where it was a person.
  actor        text,
  settled_at   timestamptz not null default clock_timestamp(),
  primary key (schedule, tick)
) partition by range (tick);

-- The schedules that a worker keeps, each as its name, rule and zone.
alter table sluice.worker add column rules text[] not null default '{}';

-- Creates the partition for a tick, and those of this week and the next ones.
create function sluice.create_schedule_partitions(around timestamptz) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select sluice.create_partitions(array['schedule_tick'], 7, 4)
    + case when around between clock_timestamp() - interval '100 years' and clock_timestamp()
        then sluice.create_partition('schedule_tick', date_trunc('week', around at time zone 'UTC'), 7)
        else 0 end
$$;

create function sluice.drop_schedule_partitions(keep_days integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(sluice.drop_partition('schedule_tick', o.child)), 0)::integer
  from sluice.old_partitions('schedule_tick', 7, keep_days) o
$$;

revoke all on function sluice.create_schedule_partitions(timestamptz) from public;
revoke all on function sluice.drop_schedule_partitions(integer) from public;

select sluice.create_schedule_partitions(clock_timestamp());

-- The hours in which an operation may run, as text; none: at any time.
alter table sluice.operation add column run_window text;
