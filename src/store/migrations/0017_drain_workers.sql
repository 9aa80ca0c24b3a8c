-- sluice: compatible
-- A person can ask a worker to end. It is told with its next sign of life, which also brings how it fares.
alter table sluice.worker
  add column drain_since  timestamptz,
  add column drain_by     text,
  add column memory_bytes bigint,
  add column loop_lag_ms  integer;
