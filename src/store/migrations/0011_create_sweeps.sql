-- Sweeps: claim rows of a user's table, have an effect outside of the database, finalise the rows under the same claim.

alter table sluice.worker add column sweeps text[] not null default '{}';

-- What all processes must know of a sweep.
create table sluice.sweep (
  name        text primary key,
  -- The circuit breaker is open until then.
  held_until  timestamptz,
  held_reason text,
  -- When somebody last asked for a run.
  wanted_at   timestamptz
);

-- Rows that are claimed, wait for another attempt, or are isolated. A row is gone from here when it is finalised, and
-- its idempotency key with it: "generation" is made by the first claim and kept by all that follow.
create table sluice.sweep_claim (
  sweep          text not null,
  key            text[] not null,
  generation     uuid not null,
  -- What the row said of its object when it was first claimed.
  version        text,
  -- Of the last claim. Who has another one changes nothing.
  nonce          uuid not null,
  -- Null: nobody works on it.
  worker_id      uuid,
  claimed_at     timestamptz not null default clock_timestamp(),
  retry_at       timestamptz not null default clock_timestamp(),
  attempts       smallint not null default 0,
  crashes        smallint not null default 0,
  error          jsonb,
  quarantined_at timestamptz,
  primary key (sweep, key)
)
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

create index sweep_claim_worker_idx on sluice.sweep_claim (sweep, worker_id) where worker_id is not null;
create index sweep_claim_waiting_idx on sluice.sweep_claim (sweep, retry_at)
  where worker_id is null and quarantined_at is null;
create index sweep_claim_quarantined_idx on sluice.sweep_claim (sweep, quarantined_at) where quarantined_at is not null;
-- By what stands in users' rows, whose columns may be text.
create index sweep_claim_nonce_idx on sluice.sweep_claim ((nonce::text));
