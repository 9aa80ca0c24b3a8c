-- The governor: what limits an operation, lanes that follow the load, and one budget for all processes.

alter table sluice.operation
  -- What keeps it from going faster, as the process sees it that said so last.
  add column limiter jsonb,
  add column limited_at timestamptz,
  add column limited_by uuid,
  -- Up to so many lanes, as the load allows; null: as many as "lanes" says.
  add column most_lanes integer check (most_lanes > 0),
  add column lanes_at timestamptz not null default clock_timestamp();

-- What all processes together may use. Below zero: so much has been used in advance, and has to be waited for.
create table sluice.budget (
  kind      text primary key check (kind in ('rows', 'wal')),
  tokens    double precision not null default 0,
  filled_at timestamptz not null default clock_timestamp()
)
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

insert into sluice.budget (kind) values ('rows'), ('wal');
