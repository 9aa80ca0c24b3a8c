-- What people build from jobs and rows: schedules, reconcilers, inboxes, sweeps. Ticks go in partitions of seven days,
-- messages in partitions of a day, which retention drops.

create table sluice.schedule (
  name              text primary key,
  -- A cron pattern, or "every" and a time. A worker that has another rule or zone in its code leaves the row alone.
  rule              text not null,
  zone              text not null,
  -- What it had before, each as rule and zone, the latest last. A worker that still has one of these in its code is of an
  -- older release: it does not bring it back while workers are there that keep the rule of now.
  past_rules        text[] not null default '{}',
  target_kind       text not null check (target_kind in ('job', 'operation')),
  target            text not null,
  missed            text not null,
  overlap           text not null check (overlap in ('skip', 'queue', 'allow')),
  delay_ms          bigint not null,
  deadline_ms       bigint,
  run_window        text,
  enabled           boolean not null default true,
  disabled_by       text,
  disabled_reason   text,
  -- Ticks up to here are settled; later ones are not. The row is locked by whoever settles one.
  considered_to     timestamptz not null default clock_timestamp(),
  -- The last run, which may block the next one.
  last_job_id       bigint,
  last_operation_id uuid,
  last_started_at   timestamptz,
  created_at        timestamptz not null default clock_timestamp(),
  -- When a worker that knows it was last there.
  seen_at           timestamptz not null default clock_timestamp()
);

create table sluice.schedule_tick (
  schedule     text not null,
  tick         timestamptz not null,
  outcome      text not null check (outcome in ('started', 'skipped', 'failed')),
  reason       text,
  job_id       bigint,
  operation_id uuid,
  -- Ticks before this one that nobody was there for.
  missed       integer not null default 0,
  -- Who asked for it, where it was a person.
  actor        text,
  settled_at   timestamptz not null default clock_timestamp(),
  primary key (schedule, tick)
) partition by range (tick);

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

-- Inboxes: what other systems send, each message once; and results of work that is done once per key.
create table sluice.inbox (
  id   integer generated always as identity primary key,
  name text not null unique
);

create sequence sluice.inbox_message_id_seq;

-- One narrow row per message, for as long as its key must stay taken. Not partitioned: a unique index over partitions
-- needs the day in it, and then a key could come in once on each of two days. Expired rows go in small batches.
-- States: 0 waiting, 1 processed, 2 failed (its job ended without success).
-- A message that comes again only reads this row: its handler may have it locked for long.
create table sluice.inbox_key (
  inbox_id     integer not null,
  state        smallint not null default 0 check (state in (0, 1, 2)),
  key_hash     uuid not null,
  payload_hash uuid not null,
  message_id   bigint not null,
  received_at  timestamptz not null,
  settled_at   timestamptz,
  expires_at   timestamptz not null,
  primary key (inbox_id, key_hash)
)
with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
create index inbox_key_open_idx on sluice.inbox_key (inbox_id, state, received_at, message_id) where state <> 1;
create index inbox_key_expires_at_idx on sluice.inbox_key (expires_at);

-- What was sent, dropped by the day.
create table sluice.inbox_message (
  id          bigint not null,
  inbox_id    integer not null,
  job_id      bigint not null,
  received_at timestamptz not null,
  key         text not null,
  payload     jsonb not null
) partition by range (received_at);
create index inbox_message_id_idx on sluice.inbox_message (id);

-- Payloads that came under a key which had come with another one.
create table sluice.inbox_difference (
  inbox_id     integer not null,
  key_hash     uuid not null,
  payload_hash uuid not null,
  received_at  timestamptz not null,
  payload      jsonb not null,
  primary key (inbox_id, key_hash, payload_hash)
);

-- What work that is done once has given. The row is there uncommitted while the work runs, so that others wait.
create table sluice.once_result (
  hash       uuid primary key,
  scope      text not null,
  key        text not null,
  result     jsonb,
  stored_at  timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null
)
with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
create index once_result_expires_at_idx on sluice.once_result (expires_at);

-- Sweeps: claim rows of a user's table, have an effect outside of the database, complete the rows under the same claim.
-- Here is what all processes must know of one.
create table sluice.sweep (
  name        text primary key,
  -- The circuit breaker is open until then.
  held_until  timestamptz,
  held_reason text,
  -- When somebody last asked for a run.
  wanted_at   timestamptz
);

-- Rows that are claimed, wait for another attempt, or are isolated. A row is gone from here when it is completed, and
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
