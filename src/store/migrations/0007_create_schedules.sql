-- Schedules, and the windows of operations. One row per schedule and one per tick; ticks go in partitions of seven
-- days, which retention drops.

create table sluice.schedule (
  name              text primary key,
  -- A cron pattern, or "every" and a time. A worker that has another rule or zone in its code leaves the row alone.
  rule              text not null,
  zone              text not null,
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

-- Creates the partition for a tick, and those of this week and the next ones. It runs with the rights of whoever
-- migrated, so that workers need no right to create tables.
create function sluice.create_schedule_partitions(around timestamptz) returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  child text;
  monday timestamp;
  created integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('sluice.create_schedule_partitions', 0));
  for monday in
    select date_trunc('week', clock_timestamp() at time zone 'UTC') + week * interval '7 days'
    from generate_series(0, 4) week
    union
    select date_trunc('week', around at time zone 'UTC')
    where around between clock_timestamp() - interval '100 years' and clock_timestamp()
  loop
    child := 'schedule_tick_' || to_char(monday, 'YYYYMMDD');
    if to_regclass('sluice.' || child) is null then
      execute format('create table sluice.%I (like sluice.schedule_tick including all)', child);
      execute format(
        'alter table sluice.schedule_tick attach partition sluice.%I for values from (%L) to (%L)',
        child, monday at time zone 'UTC', (monday + interval '7 days') at time zone 'UTC');
      created := created + 1;
    end if;
  end loop;
  return created;
end
$$;

-- Drops the partitions whose last day is older than the retention. One that somebody reads is left for the next time.
create function sluice.drop_schedule_partitions(keep_days integer) returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  child text;
  dropped integer := 0;
begin
  perform set_config('lock_timeout', '500ms', true);
  for child in
    select c.relname
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
    where i.inhparent = to_regclass('sluice.schedule_tick')
      and c.relname ~ '_[0-9]{8}$'
      and to_date(right(c.relname, 8), 'YYYYMMDD') + 7 <
        (clock_timestamp() at time zone 'UTC')::date - greatest(keep_days, 1)
  loop
    begin
      -- The parent first: readers lock in that order, too.
      lock table only sluice.schedule_tick in access exclusive mode;
      execute format('drop table sluice.%I', child);
      dropped := dropped + 1;
    exception when lock_not_available then
      null;
    end;
  end loop;
  return dropped;
end
$$;

revoke all on function sluice.create_schedule_partitions(timestamptz) from public;
revoke all on function sluice.drop_schedule_partitions(integer) from public;

select sluice.create_schedule_partitions(clock_timestamp());

-- The hours in which an operation may run, as text; none: at any time.
alter table sluice.operation add column run_window text;
