-- Reconcilers: when each looks for forgotten records next, and what the last run found. The work is found by their
-- queries; nothing here is needed to do it again.
create table sluice.reconciler (
  name        text primary key,
  -- Whoever moves it on runs the interval. A run moves it on as it goes, so it is a lease, too.
  next_at     timestamptz not null,
  -- Of the run that is under way, or that broke off.
  nonce       uuid,
  worker_id   uuid,
  started_at  timestamptz,
  finished_at timestamptz,
  found       bigint not null default 0,
  enqueued    bigint not null default 0,
  error       jsonb
);

-- Steps of machines whose effect is done but whose row could not be moved: the reconciler of the machine leaves such
-- rows to a person. The hash keeps the entries short, whatever the args of a job are.
create index job_dead_unmoved_idx on sluice.job_dead (class_id, jsonb_hash_extended(args, 0))
  where error ->> 'code' = 'MACHINE_STATE';
