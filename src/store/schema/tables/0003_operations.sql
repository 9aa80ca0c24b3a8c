-- Operations and their batches. The live tables hold unfinished work only and stay small; finishing moves a row, in
-- the finishing statement, to a history table in partitions of seven days, which retention drops. Nothing cascades.

create table sluice.operation (
  id               uuid primary key,
  name             text not null,
  args             jsonb not null,
  tenant           text,
  actor            text,
  -- Hash of name, args and tenant: one unfinished operation for each.
  fingerprint      text not null unique,
  status           text not null check (status in
    ('awaiting_approval', 'queued', 'active', 'held', 'pausing', 'paused', 'verifying', 'cancelling')),
  reason           text,
  hold_until       timestamptz,
  table_name       text not null,
  cursor_columns   text[] not null,
  cursor_types     text[] not null,
  -- The last key that a batch was carved up to, and the last key of all, frozen at the start.
  carved_to        text[],
  carve_end        text[],
  fully_carved     boolean not null,
  batches_carved   integer not null default 0,
  lanes            integer not null check (lanes > 0),
  batch_size       integer not null check (batch_size > 0),
  sub_batch_size   integer not null check (sub_batch_size > 0),
  rows_estimate    bigint not null,
  -- Sums over finished batches; a running batch carries its own.
  rows_seen        bigint not null default 0,
  rows_changed     bigint not null default 0,
  sub_batches      bigint not null default 0,
  busy_ms          bigint not null default 0,
  batches_finished integer not null default 0,
  created_at       timestamptz not null default clock_timestamp(),
  started_at       timestamptz,
  status_actor     text,
  status_since     timestamptz not null default clock_timestamp(),
  priority         text not null default 'normal' check (priority in ('low', 'normal', 'high')),
  conflicts        text not null default 'table' check (conflicts in ('table', 'none')),
  until            text not null default 'end' check (until in ('end', 'empty')),
  -- Where the walk began: after this key, or at the first row.
  lower_key        text[],
  pace             real not null default 1 check (pace > 0 and pace <= 1),
  -- Passes over the table: the second one looks for rows in scope that the first did not meet.
  verify           boolean not null default false,
  pass             integer not null default 1,
  rows_matched     bigint not null default 0,
  rows_quarantined bigint not null default 0,
  quarantine_limit integer not null default 1000,
  -- Which rows are steps of the walk, and in which order: see WalkKind in src/store/operations.ts.
  walk             text not null default 'key' check (walk in ('key', 'sparse', 'found')),
  -- The index along which it goes; null: the one of its key.
  walk_index       text,
  -- Rows of the next batch, while carving batch_size of them takes too long.
  carve_size       integer check (carve_size > 0),
  -- The hours in which it may run, as text; null: at any time.
  run_window       text,
  -- What keeps it from going faster, as the process sees it that said so last.
  limiter          jsonb,
  limited_at       timestamptz,
  limited_by       uuid,
  -- Up to this number of lanes, as the load allows; null: as many as "lanes" says.
  most_lanes       integer check (most_lanes > 0),
  lanes_at         timestamptz not null default clock_timestamp(),
  -- Whether batch_size is only the most that a batch may have; carve_size says how many rows the next one gets.
  tunes_batches    boolean not null default false,
  -- Rows of a sub-batch, as far as is known; null: always sub_batch_size, which else is the most.
  tuned_size       integer check (tuned_size > 0),
  -- A person has let it run. Workers do not run an operation without it whose definition asks for an approval.
  approved         boolean not null default false
);

-- One operation per table, unless it says that it may share: held and stopping ones still own their table.
create unique index operation_table_key on sluice.operation (table_name)
  where conflicts = 'table' and status in ('active', 'held', 'verifying', 'pausing', 'cancelling');
create index operation_tenant_idx on sluice.operation (tenant);

create table sluice.batch (
  id               uuid primary key,
  operation_id     uuid not null,
  seq              integer not null,
  -- Keys in (lower_key, upper_key]; no lower_key: from the first row on.
  lower_key        text[],
  upper_key        text[] not null,
  -- Everything up to here is done and committed.
  checkpoint       text[],
  state            text not null check (state in ('ready', 'running')),
  nonce            uuid,
  worker_id        uuid,
  lease_until      timestamptz,
  ready_at         timestamptz not null default clock_timestamp(),
  errors           integer not null default 0,
  crashes          integer not null default 0,
  last_error       jsonb,
  sub_batch_size   integer not null,
  rows_seen        bigint not null default 0,
  rows_changed     bigint not null default 0,
  sub_batches      bigint not null default 0,
  busy_ms          bigint not null default 0,
  created_at       timestamptz not null default clock_timestamp(),
  pass             integer not null default 1,
  rows_matched     bigint not null default 0,
  rows_quarantined bigint not null default 0,
  -- Crashes count against a batch only while it gets no further.
  crash_checkpoint text[],
  -- The claim that was taken for dead last; its holder may show that it was not.
  crash_nonce      uuid,
  unique (operation_id, seq),
  check ((state = 'running') = (nonce is not null and worker_id is not null and lease_until is not null))
)
-- Checkpoints rewrite rows often: room on the page keeps those updates off the indexes.
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200);

create table sluice.operation_history (
  id               uuid not null,
  name             text not null,
  args             jsonb not null,
  tenant           text,
  actor            text,
  status           text not null,
  error            jsonb,
  table_name       text not null,
  rows_estimate    bigint not null,
  rows_seen        bigint not null,
  rows_changed     bigint not null,
  sub_batches      bigint not null,
  busy_ms          bigint not null,
  batches_finished integer not null,
  created_at       timestamptz not null,
  started_at       timestamptz,
  finished_at      timestamptz not null,
  rows_matched     bigint not null default 0,
  rows_quarantined bigint not null default 0,
  -- The row as it was, so that what is left can be taken up again.
  record           jsonb,
  primary key (id, finished_at)
) partition by range (finished_at);

create table sluice.batch_history (
  id               uuid not null,
  operation_id     uuid not null,
  seq              integer not null,
  lower_key        text[],
  upper_key        text[] not null,
  outcome          text not null check (outcome in ('finished', 'failed', 'abandoned', 'retried')),
  nonce            uuid,
  worker_id        uuid,
  errors           integer not null,
  crashes          integer not null,
  last_error       jsonb,
  rows_seen        bigint not null,
  rows_changed     bigint not null,
  sub_batches      bigint not null,
  busy_ms          bigint not null,
  created_at       timestamptz not null,
  finished_at      timestamptz not null,
  checkpoint       text[],
  pass             integer not null default 1,
  rows_matched     bigint not null default 0,
  rows_quarantined bigint not null default 0,
  primary key (operation_id, seq, finished_at)
) partition by range (finished_at);

-- What is left of an operation when its history has been dropped.
create table sluice.operation_summary (
  id               uuid primary key,
  name             text not null,
  tenant           text,
  status           text not null,
  rows_changed     bigint not null,
  rows_quarantined bigint not null,
  created_at       timestamptz not null,
  finished_at      timestamptz not null
);
create index operation_summary_finished_idx on sluice.operation_summary (finished_at);

-- Key ranges (mostly of one row) that could not be processed, each with its error.
create table sluice.quarantine (
  id             uuid not null,
  operation_id   uuid not null,
  seq            integer not null,
  lower_key      text[],
  upper_key      text[] not null,
  rows           integer not null,
  error          jsonb not null,
  fingerprint    text not null,
  retried_at     timestamptz,
  quarantined_at timestamptz not null default clock_timestamp(),
  primary key (operation_id, id, quarantined_at)
) partition by range (quarantined_at);

-- Every change of status, with who and why.
create table sluice.transition (
  operation_id uuid not null,
  from_status  text,
  to_status    text not null,
  reason       text,
  actor        text,
  at           timestamptz not null default clock_timestamp()
) partition by range (at);
create index transition_operation_id_idx on sluice.transition (operation_id);

-- Definitions that may not run, whatever is started.
create table sluice.disabled_operation (
  name        text primary key,
  reason      text,
  actor       text,
  disabled_at timestamptz not null default clock_timestamp()
);

-- One place that says: no operation works now. Whoever may write here may say so; workers only read it.
create table sluice.standstill (
  -- There is one, or none.
  only_one boolean primary key default true check (only_one),
  reason   text,
  actor    text,
  since    timestamptz not null default clock_timestamp()
);

-- How much each tenant has had: measured busy time over weight. The empty name stands for system operations.
create table sluice.tenant_share (
  tenant     text primary key,
  virtual_ms double precision not null
);

-- How far finished runs of recurring operations have come.
create table sluice.recurring_mark (
  fingerprint text primary key,
  key         text[] not null,
  marked_at   timestamptz not null default clock_timestamp()
);

-- What all processes together may use. Below zero: used in advance, and has to be waited for.
create table sluice.budget (
  kind      text primary key check (kind in ('rows', 'wal')),
  tokens    double precision not null default 0,
  filled_at timestamptz not null default clock_timestamp()
)
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
insert into sluice.budget (kind) values ('rows'), ('wal');

-- Settings of users' tables that are other than usual while an operation runs, and what they were before.
create table sluice.table_setting (
  table_name text primary key,
  -- Of vacuum_truncate; null: the table said nothing about it.
  previous   text,
  set_at     timestamptz not null default clock_timestamp()
);
