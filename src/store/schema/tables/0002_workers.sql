-- Who is at work. A row is a sign of life for people and pages; ownership of work is decided by nonces alone.

create table sluice.worker (
  id           uuid primary key,
  host         text not null,
  pid          integer not null,
  version      text not null,
  operations   text[] not null,
  started_at   timestamptz not null default clock_timestamp(),
  seen_at      timestamptz not null default clock_timestamp(),
  jobs         text[] not null default '{}',
  queues       text[] not null default '{}',
  concurrency  integer not null default 0,
  -- The schedules that it keeps, each as its name, rule and zone.
  rules        text[] not null default '{}',
  sweeps       text[] not null default '{}',
  -- A person can ask a worker to end. It is told with its next sign of life, which also brings how it fares.
  drain_since  timestamptz,
  drain_by     text,
  memory_bytes bigint,
  loop_lag_ms  integer,
  -- Transactions in a second of a worker that works on operations: to its peers they are not the application's.
  transactions real not null default 0
);
