-- Partitions of the history tables: created ahead, dropped when they are old. The last lines create the first ones, and
-- the first ones of a table that is added to a list here.

-- Creates the partition of n days that begins at a time of UTC, unless it is there. Attaching, unlike "partition
-- of", does not stop readers and writers.
create or replace function sluice.create_partition(parent text, begins timestamp, days integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  child text := parent || '_' || to_char(begins, 'YYYYMMDD');
begin
  if to_regclass('sluice.' || child) is not null then
    return 0;
  end if;
  execute format('create table sluice.%I (like sluice.%I including all)', child, parent);
  -- As texts that mean the same in every session: in some date styles the name of a zone stands for several.
  execute format(
    'alter table sluice.%I attach partition sluice.%I for values from (%L) to (%L)',
    parent, child, to_char(begins, 'YYYY-MM-DD HH24:MI:SS"+00"'),
    to_char(begins + days * interval '1 day', 'YYYY-MM-DD HH24:MI:SS"+00"'));
  return 1;
end
$$;

-- Whoever creates partitions holds this lock until he commits.
create or replace function sluice.lock_partitions() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform from sluice.partition_turn where id for update;
  if not found then
    -- A restore that left out the data of this table. Without the row nobody would wait for anybody.
    insert into sluice.partition_turn default values on conflict do nothing;
    perform from sluice.partition_turn where id for update;
  end if;
end
$$;

-- Creates the partitions of tables for this day or week, and for the next ones.
create or replace function sluice.create_partitions(parents text[], days integer, ahead integer) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  today timestamp := date_trunc(case days when 7 then 'week' else 'day' end, clock_timestamp() at time zone 'UTC');
  parent text;
  created integer := 0;
begin
  perform sluice.lock_partitions();
  foreach parent in array parents loop
    for nth in 0 .. ahead loop
      created := created + sluice.create_partition(parent, today + nth * days * interval '1 day', days);
    end loop;
  end loop;
  return created;
end
$$;

-- The partitions of a table whose last day is older than the retention.
create or replace function sluice.old_partitions(parent text, days integer, keep_days integer) returns table (child text, day date)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.relname::text, to_date(right(c.relname, 8), 'YYYYMMDD')
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  where i.inhparent = to_regclass('sluice.' || parent)
    and c.relname ~ '_[0-9]{8}$'
    and to_date(right(c.relname, 8), 'YYYYMMDD') + days <
      (clock_timestamp() at time zone 'UTC')::date - greatest(keep_days, 1)
$$;

-- Drops a partition. One that somebody reads is left for the next time.
create or replace function sluice.drop_partition(parent text, child text) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
set lock_timeout = '500ms'
as $$
begin
  -- The parent first: readers lock in that order, too.
  execute format('lock table only sluice.%I in access exclusive mode', parent);
  execute format('drop table sluice.%I', child);
  return 1;
exception when lock_not_available then
  return 0;
end
$$;

create or replace function sluice.create_history_partitions(weeks_ahead integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select sluice.create_partitions(array['operation_history', 'batch_history', 'quarantine', 'transition'], 7,
    least(greatest(weeks_ahead, 1), 52))
$$;

create or replace function sluice.drop_history_partitions(keep_days integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(sluice.drop_partition(p.name, o.child)), 0)::integer
  from unnest(array['operation_history', 'batch_history', 'quarantine', 'transition']) p(name)
  cross join lateral sluice.old_partitions(p.name, 7, keep_days) o
$$;

create or replace function sluice.create_job_partitions(days_ahead integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select sluice.create_partitions(array['job_history', 'job_dead', 'job_attempt'], 1,
    least(greatest(days_ahead, 1), 60))
$$;

create or replace function sluice.drop_job_partitions(keep_days integer, keep_dead_days integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(sluice.drop_partition(p.name, o.child)), 0)::integer
  from (values ('job_history', keep_days), ('job_dead', keep_dead_days), ('job_attempt', keep_dead_days)) p(name, keep)
  cross join lateral sluice.old_partitions(p.name, 1, p.keep) o
$$;

create or replace function sluice.create_job_batch_partitions(weeks_ahead integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select sluice.create_partitions(array['job_batch_history'], 7, least(greatest(weeks_ahead, 1), 52))
$$;

create or replace function sluice.drop_job_batch_partitions(keep_days integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(sluice.drop_partition('job_batch_history', o.child)), 0)::integer
  from sluice.old_partitions('job_batch_history', 7, keep_days) o
$$;

-- Creates the partition for a tick, and those of this week and the next ones.
create or replace function sluice.create_schedule_partitions(around timestamptz) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select sluice.create_partitions(array['schedule_tick'], 7, 4)
    + case when around between clock_timestamp() - interval '100 years' and clock_timestamp()
        then sluice.create_partition('schedule_tick', date_trunc('week', around at time zone 'UTC'), 7)
        else 0 end
$$;

create or replace function sluice.drop_schedule_partitions(keep_days integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(sluice.drop_partition('schedule_tick', o.child)), 0)::integer
  from sluice.old_partitions('schedule_tick', 7, keep_days) o
$$;

create or replace function sluice.create_inbox_partitions(days_ahead integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select sluice.create_partitions(array['inbox_message'], 1, least(greatest(days_ahead, 1), 60))
$$;

-- Drops the days that are older than the retention. A day with a message that waits stays, and so does for a time one
-- with a message that failed: its job may be taken up again.
create or replace function sluice.drop_inbox_partitions(keep_days integer, keep_failed_days integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(sluice.drop_partition('inbox_message', o.child)), 0)::integer
  from sluice.old_partitions('inbox_message', 1, keep_days) o
  where not exists (
    select from sluice.inbox b
    cross join (values (0::smallint), (2::smallint)) s(state)
    cross join lateral (
      select from sluice.inbox_key k
      where k.inbox_id = b.id and k.state = s.state and k.state <> 1
        and k.received_at >= o.day::timestamp at time zone 'UTC'
        and k.received_at < (o.day + 1)::timestamp at time zone 'UTC'
      limit 1) k
    where s.state = 0 or o.day + 1 >= (clock_timestamp() at time zone 'UTC')::date - greatest(keep_failed_days, 1))
$$;

create or replace function sluice.create_sample_partitions() returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select sluice.create_partitions(array['queue_sample_10s', 'operation_sample_10s', 'signal_sample_10s'], 1, 1)
    + sluice.create_partitions(array['queue_sample_1m', 'operation_sample_1m', 'signal_sample_1m',
        'queue_sample_1h', 'operation_sample_1h', 'signal_sample_1h'], 7, 1)
$$;

-- Ten seconds are kept for two days, minutes for two weeks, hours as long as asked for.
create or replace function sluice.drop_sample_partitions(keep_days integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(sluice.drop_partition(p.name, o.child)), 0)::integer
  from (values ('10s', 1, 2), ('1m', 7, 14), ('1h', 7, keep_days)) s(span, days, keep)
  cross join lateral unnest(array['queue_sample_' || span, 'operation_sample_' || span, 'signal_sample_' || span]) p(name)
  cross join lateral sluice.old_partitions(p.name, s.days, s.keep) o
$$;

revoke all on function
  sluice.create_history_partitions(integer),
  sluice.drop_history_partitions(integer),
  sluice.create_job_partitions(integer),
  sluice.drop_job_partitions(integer, integer),
  sluice.create_job_batch_partitions(integer),
  sluice.drop_job_batch_partitions(integer),
  sluice.create_schedule_partitions(timestamptz),
  sluice.drop_schedule_partitions(integer),
  sluice.create_inbox_partitions(integer),
  sluice.drop_inbox_partitions(integer, integer),
  sluice.create_sample_partitions(),
  sluice.drop_sample_partitions(integer)
  from public;

select sluice.create_history_partitions(4);
select sluice.create_job_partitions(7);
select sluice.create_job_batch_partitions(4);
select sluice.create_schedule_partitions(clock_timestamp());
select sluice.create_inbox_partitions(7);
select sluice.create_sample_partitions();
