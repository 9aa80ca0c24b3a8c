-- Who is at work. A row is a sign of life for people and pages; ownership of work is decided by nonces alone.

create table sluice.worker (
  id         uuid primary key,
  host       text not null,
  pid        integer not null,
  version    text not null,
  operations text[] not null,
  started_at timestamptz not null default clock_timestamp(),
  seen_at    timestamptz not null default clock_timestamp()
);
