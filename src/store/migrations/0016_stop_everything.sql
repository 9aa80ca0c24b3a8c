-- One place that says: no operation works now. Whoever may write here may say so; workers only read it.
create table sluice.standstill (
  -- There is one, or none.
  only_one boolean primary key default true check (only_one),
  reason   text,
  actor    text,
  since    timestamptz not null default clock_timestamp()
);
