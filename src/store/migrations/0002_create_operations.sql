-- Operations and their batches. The live tables hold unfinished work only and stay small; finishing moves a row, in
-- the finishing statement, to a history table in partitions of seven days, which retention drops. Nothing cascades.

create table sluice.operation (
  id               uuid primary key,
  name             text not null,
  args             jsonb not null,
  tenant           text,
  actor            text,
  -- Hash of name, args and tenant: one unfinished operation for each.
  fingerprint      text not null unique,
  status           text not null check (status in ('queued', 'active', 'held')),
  hold_reason      text,
  hold_until       timestamptz,
  table_name       text not null,
  cursor_columns   text[] not null,
  cursor_types     text[] not null,
  -- The last key that a batch was carved up to, and the last key of all, frozen at the start.
  carved_to        text[],
  carve_end        text[],
  fully_carved     boolean not null,
  batches_carved   integer not null default 0,
  lanes            integer not null check (lanes > 0),
  batch_size       integer not null check (batch_size > 0),
  sub_batch_size   integer not null check (sub_batch_size > 0),
  rows_estimate    bigint not null,
  -- Sums over finished batches; a running batch carries its own.
  rows_seen        bigint not null default 0,
  rows_changed     bigint not null default 0,
  sub_batches      bigint not null default 0,
  busy_ms          bigint not null default 0,
  batches_finished integer not null default 0,
  created_at       timestamptz not null default clock_timestamp(),
  started_at       timestamptz
);

create table sluice.batch (
  id             uuid primary key,
  operation_id   uuid not null,
  seq            integer not null,
  -- Keys in (lower_key, upper_key]; no lower_key: from the first row on.
  lower_key      text[],
  upper_key      text[] not null,
  -- Everything up to here is done and committed.
  checkpoint     text[],
  state          text not null check (state in ('ready', 'running')),
  nonce          uuid,
  worker_id      uuid,
  lease_until    timestamptz,
  ready_at       timestamptz not null default clock_timestamp(),
  errors         integer not null default 0,
  crashes        integer not null default 0,
  last_error     jsonb,
  sub_batch_size integer not null,
  rows_seen      bigint not null default 0,
  rows_changed   bigint not null default 0,
  sub_batches    bigint not null default 0,
  busy_ms        bigint not null default 0,
  created_at     timestamptz not null default clock_timestamp(),
  unique (operation_id, seq),
  check ((state = 'running') = (nonce is not null and worker_id is not null and lease_until is not null))
)
-- Checkpoints rewrite rows often: room on the page keeps those updates off the indexes.
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);

create table sluice.operation_history (
  id               uuid not null,
  name             text not null,
  args             jsonb not null,
  tenant           text,
  actor            text,
  status           text not null,
  error            jsonb,
  table_name       text not null,
  rows_estimate    bigint not null,
  rows_seen        bigint not null,
  rows_changed     bigint not null,
  sub_batches      bigint not null,
  busy_ms          bigint not null,
  batches_finished integer not null,
  created_at       timestamptz not null,
  started_at       timestamptz,
  finished_at      timestamptz not null,
  primary key (id, finished_at)
) partition by range (finished_at);

create table sluice.batch_history (
  id           uuid not null,
  operation_id uuid not null,
  seq          integer not null,
  lower_key    text[],
  upper_key    text[] not null,
  outcome      text not null check (outcome in ('finished', 'failed', 'abandoned')),
  nonce        uuid,
  worker_id    uuid,
  errors       integer not null,
  crashes      integer not null,
  last_error   jsonb,
  rows_seen    bigint not null,
  rows_changed bigint not null,
  sub_batches  bigint not null,
  busy_ms      bigint not null,
  created_at   timestamptz not null,
  finished_at  timestamptz not null,
  primary key (operation_id, seq, finished_at)
) partition by range (finished_at);

-- Creates the partition of so many days that begins at a time of UTC, unless it is there. Attaching, unlike "partition
-- of", does not stop readers and writers.
create function sluice.create_partition(parent text, begins timestamp, days integer) returns integer
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

-- One row, which is only ever locked, by those who create partitions. An advisory lock would do the same, but any login
-- of the server can take one, and then nobody could create any: in the end, nothing could be written to history.
create table sluice.partition_turn (
  id boolean primary key default true check (id)
);
insert into sluice.partition_turn default values;

-- Whoever creates partitions holds this lock until he commits.
create function sluice.lock_partitions() returns void
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
create function sluice.create_partitions(parents text[], days integer, ahead integer) returns integer
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
create function sluice.old_partitions(parent text, days integer, keep_days integer) returns table (child text, day date)
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
create function sluice.drop_partition(parent text, child text) returns integer
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

-- Where the log of the server is. Null where the server refuses to tell, as some hosted ones do, or where the role may
-- not ask: how much log is written is good to know, and nothing may depend on it.
create function sluice.wal_position() returns pg_lsn
language plpgsql
as $$
begin
  return pg_catalog.pg_current_wal_insert_lsn();
exception when object_not_in_prerequisite_state or feature_not_supported or insufficient_privilege or undefined_function then
  return null;
end
$$;

-- Creates the partitions of this week and the next ones. Workers call it and need no right to create tables: it runs
-- with the rights of whoever migrated.
create function sluice.create_history_partitions(weeks_ahead integer) returns integer
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
  select sluice.create_partitions(array['operation_history', 'batch_history'], 7, least(greatest(weeks_ahead, 1), 52))
$$;

revoke all on function sluice.create_history_partitions(integer) from public;

select sluice.create_history_partitions(4);
