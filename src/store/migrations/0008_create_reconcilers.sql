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
