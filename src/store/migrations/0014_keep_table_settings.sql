-- Settings of users' tables that are other than usual while an operation runs, and what they were before.
create table sluice.table_setting (
  table_name text primary key,
  -- Of vacuum_truncate; null: the table said nothing about it.
  previous   text,
  set_at     timestamptz not null default clock_timestamp()
);
