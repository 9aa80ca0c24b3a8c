-- What was going on, in small: samples of ten seconds, rolled up to minutes and hours, from which charts and alerts
-- read. And who changed what: one row for each act of a person.

-- "at" is when the span begins. Counts of all processes add up. Gauges (depth, oldest) are taken by one process per
-- span; null: by none. "wait" and "run" count by duration: place n of the list is for up to 2^((n-1)/2) milliseconds.
create table sluice.queue_sample_10s (
  queue     text not null,
  at        timestamptz not null,
  enqueued  bigint not null default 0,
  started   bigint not null default 0,
  finished  bigint not null default 0,
  -- Attempts that failed, and jobs that ended without success.
  failed    bigint not null default 0,
  died      bigint not null default 0,
  wait      bigint[] not null default '{}',
  run       bigint[] not null default '{}',
  -- Jobs that are due and that nobody has claimed. A long queue is estimated.
  depth     bigint,
  oldest_ms bigint,
  primary key (queue, at)
) partition by range (at);

create table sluice.operation_sample_10s (
  operation_id uuid not null,
  at           timestamptz not null,
  name         text not null,
  rows_seen    bigint not null default 0,
  rows_changed bigint not null default 0,
  batches      bigint not null default 0,
  sub_batches  bigint not null default 0,
  quarantined  bigint not null default 0,
  wal_bytes    bigint not null default 0,
  -- Of sub-batches, by duration.
  run          bigint[] not null default '{}',
  -- Rows of a sub-batch, and how long its rows are to take.
  size         integer,
  target_ms    real,
  status       text,
  lanes        integer,
  -- Share of the time that its lanes may work: by a person, and by the governor, with what limits it.
  pace         real,
  share        real,
  limiter      text,
  hold_ms      bigint not null default 0,
  -- Share of its rows that are behind it, by the estimate at its start.
  progress     real,
  primary key (operation_id, at)
) partition by range (at);

create table sluice.signal_sample_10s (
  signal     text not null,
  -- The table that it is about; empty: the server.
  table_name text not null,
  at         timestamptz not null,
  value      double precision not null,
  soft       double precision not null,
  hard       double precision not null,
  primary key (signal, table_name, at)
) partition by range (at);

do $$
declare
  kind text;
  span text;
begin
  foreach kind in array array['queue', 'operation', 'signal'] loop
    foreach span in array array['1m', '1h'] loop
      execute format('create table sluice.%I (like sluice.%I including all) partition by range (at)',
        kind || '_sample_' || span, kind || '_sample_10s');
    end loop;
  end loop;
end
$$;

-- How far samples have been taken and rolled up; one row. Whoever moves it on does the work, the others find it done.
create table sluice.sample_clock (
  single    boolean primary key default true check (single),
  taken_to  timestamptz not null default clock_timestamp() - interval '1 minute',
  rolled_1m timestamptz not null default clock_timestamp(),
  rolled_1h timestamptz not null default clock_timestamp()
);
insert into sluice.sample_clock default values;

-- The number of the last samples that a worker has written: an answer that was lost does not count them twice. Not in
-- the row of the worker: its sign of life must not wait until samples are written.
create table sluice.sample_mark (
  worker_id uuid primary key,
  number    bigint not null,
  at        timestamptz not null default clock_timestamp()
);

-- Alerts: each rule and what it is about, since it was first broken. "changed_at" is when it began or ended; whoever
-- has said so elsewhere moves "told_at" there.
create table sluice.alert (
  rule       text not null,
  subject    text not null,
  firing     boolean not null,
  severity   text not null check (severity in ('warning', 'critical')),
  message    text not null,
  value      double precision,
  threshold  double precision,
  -- Looks in a row that spoke for a change.
  streak     integer not null default 0,
  looked_at  timestamptz not null default clock_timestamp(),
  changed_at timestamptz not null default clock_timestamp(),
  told_at    timestamptz,
  telling_at timestamptz,
  primary key (rule, subject)
);

-- One row, which is only ever locked, by whoever judges. An advisory lock would do the same, but any login of the server
-- can take one, and then nobody would judge; this row needs the rights of a worker.
create table sluice.alert_turn (
  id boolean primary key default true check (id)
);
insert into sluice.alert_turn default values;

-- Who did what, from where and why: one row in the transaction of each act of a person. Written once, and kept until it
-- is older than the retention.
create table sluice.audit (
  id     bigint generated always as identity primary key,
  at     timestamptz not null default clock_timestamp(),
  actor  text,
  source text not null check (source in ('api', 'cli', 'dashboard', 'schedule')),
  action text not null,
  target text not null,
  before jsonb,
  after  jsonb,
  reason text
);
create index audit_target_idx on sluice.audit (target, id);
create index audit_at_idx on sluice.audit (at);
