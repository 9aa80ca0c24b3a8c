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

-- Creates the partitions of this week and the next ones. Workers call it and need no right to create tables: it runs
-- with the rights of whoever migrated. Attaching, unlike "partition of", does not stop readers and writers.
create function sluice.create_history_partitions(weeks_ahead integer) returns integer
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  parent text;
  child text;
  monday timestamp;
  created integer := 0;
begin
  perform pg_advisory_xact_lock(hashtextextended('sluice.create_history_partitions', 0));
  foreach parent in array array['operation_history', 'batch_history'] loop
    for week in 0 .. least(greatest(weeks_ahead, 1), 52) loop
      monday := date_trunc('week', clock_timestamp() at time zone 'UTC') + week * interval '7 days';
      child := parent || '_' || to_char(monday, 'YYYYMMDD');
      if to_regclass('sluice.' || child) is null then
        execute format('create table sluice.%I (like sluice.%I including all)', child, parent);
        execute format(
          'alter table sluice.%I attach partition sluice.%I for values from (%L) to (%L)',
          parent, child, monday at time zone 'UTC', (monday + interval '7 days') at time zone 'UTC');
        created := created + 1;
      end if;
    end loop;
  end loop;
  return created;
end
$$;

revoke all on function sluice.create_history_partitions(integer) from public;

select sluice.create_history_partitions(4);
