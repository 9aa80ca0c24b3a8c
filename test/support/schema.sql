table batch with {fillfactor=50,autovacuum_vacuum_scale_factor=0.05,autovacuum_vacuum_threshold=200}
  id uuid not null
  operation_id uuid not null
  seq integer not null
  lower_key text[]
  upper_key text[] not null
  checkpoint text[]
  state text not null
  nonce uuid
  worker_id uuid
  lease_until timestamp with time zone
  ready_at timestamp with time zone not null default clock_timestamp()
  errors integer not null default 0
  crashes integer not null default 0
  last_error jsonb
  sub_batch_size integer not null
  rows_seen bigint not null default 0
  rows_changed bigint not null default 0
  sub_batches bigint not null default 0
  busy_ms bigint not null default 0
  created_at timestamp with time zone not null default clock_timestamp()
  pass integer not null default 1
  rows_matched bigint not null default 0
  rows_quarantined bigint not null default 0
  crash_checkpoint text[]
  constraint batch_check CHECK (((state = 'running'::text) = ((nonce IS NOT NULL) AND (worker_id IS NOT NULL) AND (lease_until IS NOT NULL))))
  constraint batch_operation_id_seq_key UNIQUE (operation_id, seq)
  constraint batch_pkey PRIMARY KEY (id)
  constraint batch_state_check CHECK ((state = ANY (ARRAY['ready'::text, 'running'::text])))
  CREATE UNIQUE INDEX batch_operation_id_seq_key ON sluice.batch USING btree (operation_id, seq)
  CREATE UNIQUE INDEX batch_pkey ON sluice.batch USING btree (id)
table batch_history partition by RANGE (finished_at)
  id uuid not null
  operation_id uuid not null
  seq integer not null
  lower_key text[]
  upper_key text[] not null
  outcome text not null
  nonce uuid
  worker_id uuid
  errors integer not null
  crashes integer not null
  last_error jsonb
  rows_seen bigint not null
  rows_changed bigint not null
  sub_batches bigint not null
  busy_ms bigint not null
  created_at timestamp with time zone not null
  finished_at timestamp with time zone not null
  checkpoint text[]
  pass integer not null default 1
  rows_matched bigint not null default 0
  rows_quarantined bigint not null default 0
  constraint batch_history_outcome_check CHECK ((outcome = ANY (ARRAY['finished'::text, 'failed'::text, 'abandoned'::text, 'retried'::text])))
  constraint batch_history_pkey PRIMARY KEY (operation_id, seq, finished_at)
  CREATE UNIQUE INDEX batch_history_pkey ON ONLY sluice.batch_history USING btree (operation_id, seq, finished_at)
table disabled_operation
  name text not null
  reason text
  actor text
  disabled_at timestamp with time zone not null default clock_timestamp()
  constraint disabled_operation_pkey PRIMARY KEY (name)
  CREATE UNIQUE INDEX disabled_operation_pkey ON sluice.disabled_operation USING btree (name)
table migration
  version integer not null
  name text not null
  compatible boolean not null
  applied_at timestamp with time zone not null default clock_timestamp()
  constraint migration_pkey PRIMARY KEY (version)
  CREATE UNIQUE INDEX migration_pkey ON sluice.migration USING btree (version)
table operation
  id uuid not null
  name text not null
  args jsonb not null
  tenant text
  actor text
  fingerprint text not null
  status text not null
  reason text
  hold_until timestamp with time zone
  table_name text not null
  cursor_columns text[] not null
  cursor_types text[] not null
  carved_to text[]
  carve_end text[]
  fully_carved boolean not null
  batches_carved integer not null default 0
  lanes integer not null
  batch_size integer not null
  sub_batch_size integer not null
  rows_estimate bigint not null
  rows_seen bigint not null default 0
  rows_changed bigint not null default 0
  sub_batches bigint not null default 0
  busy_ms bigint not null default 0
  batches_finished integer not null default 0
  created_at timestamp with time zone not null default clock_timestamp()
  started_at timestamp with time zone
  status_actor text
  status_since timestamp with time zone not null default clock_timestamp()
  priority text not null default 'normal'::text
  conflicts text not null default 'table'::text
  until text not null default 'end'::text
  lower_key text[]
  pace real not null default 1
  verify boolean not null default false
  pass integer not null default 1
  rows_matched bigint not null default 0
  rows_quarantined bigint not null default 0
  quarantine_limit integer not null default 1000
  carve text not null default 'dense'::text
  carve_size integer
  constraint operation_batch_size_check CHECK ((batch_size > 0))
  constraint operation_carve_check CHECK ((carve = ANY (ARRAY['dense'::text, 'sparse'::text])))
  constraint operation_carve_size_check CHECK ((carve_size > 0))
  constraint operation_conflicts_check CHECK ((conflicts = ANY (ARRAY['table'::text, 'none'::text])))
  constraint operation_fingerprint_key UNIQUE (fingerprint)
  constraint operation_lanes_check CHECK ((lanes > 0))
  constraint operation_pace_check CHECK (((pace > (0)::double precision) AND (pace <= (1)::double precision)))
  constraint operation_pkey PRIMARY KEY (id)
  constraint operation_priority_check CHECK ((priority = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text])))
  constraint operation_status_check CHECK ((status = ANY (ARRAY['awaiting_approval'::text, 'queued'::text, 'active'::text, 'held'::text, 'pausing'::text, 'paused'::text, 'verifying'::text, 'cancelling'::text])))
  constraint operation_sub_batch_size_check CHECK ((sub_batch_size > 0))
  constraint operation_until_check CHECK ((until = ANY (ARRAY['end'::text, 'empty'::text])))
  CREATE INDEX operation_tenant_idx ON sluice.operation USING btree (tenant)
  CREATE UNIQUE INDEX operation_fingerprint_key ON sluice.operation USING btree (fingerprint)
  CREATE UNIQUE INDEX operation_pkey ON sluice.operation USING btree (id)
  CREATE UNIQUE INDEX operation_table_key ON sluice.operation USING btree (table_name) WHERE ((conflicts = 'table'::text) AND (status = ANY (ARRAY['active'::text, 'held'::text, 'verifying'::text, 'pausing'::text, 'cancelling'::text])))
table operation_history partition by RANGE (finished_at)
  id uuid not null
  name text not null
  args jsonb not null
  tenant text
  actor text
  status text not null
  error jsonb
  table_name text not null
  rows_estimate bigint not null
  rows_seen bigint not null
  rows_changed bigint not null
  sub_batches bigint not null
  busy_ms bigint not null
  batches_finished integer not null
  created_at timestamp with time zone not null
  started_at timestamp with time zone
  finished_at timestamp with time zone not null
  rows_matched bigint not null default 0
  rows_quarantined bigint not null default 0
  record jsonb
  constraint operation_history_pkey PRIMARY KEY (id, finished_at)
  CREATE UNIQUE INDEX operation_history_pkey ON ONLY sluice.operation_history USING btree (id, finished_at)
table operation_summary
  id uuid not null
  name text not null
  tenant text
  status text not null
  rows_changed bigint not null
  rows_quarantined bigint not null
  created_at timestamp with time zone not null
  finished_at timestamp with time zone not null
  constraint operation_summary_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX operation_summary_pkey ON sluice.operation_summary USING btree (id)
table quarantine partition by RANGE (quarantined_at)
  id uuid not null
  operation_id uuid not null
  seq integer not null
  lower_key text[]
  upper_key text[] not null
  rows integer not null
  error jsonb not null
  fingerprint text not null
  retried_at timestamp with time zone
  quarantined_at timestamp with time zone not null default clock_timestamp()
  constraint quarantine_pkey PRIMARY KEY (operation_id, id, quarantined_at)
  CREATE UNIQUE INDEX quarantine_pkey ON ONLY sluice.quarantine USING btree (operation_id, id, quarantined_at)
table recurring_mark
  fingerprint text not null
  key text[] not null
  marked_at timestamp with time zone not null default clock_timestamp()
  constraint recurring_mark_pkey PRIMARY KEY (fingerprint)
  CREATE UNIQUE INDEX recurring_mark_pkey ON sluice.recurring_mark USING btree (fingerprint)
table tenant_share
  tenant text not null
  virtual_ms double precision not null
  constraint tenant_share_pkey PRIMARY KEY (tenant)
  CREATE UNIQUE INDEX tenant_share_pkey ON sluice.tenant_share USING btree (tenant)
table transition partition by RANGE (at)
  operation_id uuid not null
  from_status text
  to_status text not null
  reason text
  actor text
  at timestamp with time zone not null default clock_timestamp()
  CREATE INDEX transition_operation_id_idx ON ONLY sluice.transition USING btree (operation_id)
table worker
  id uuid not null
  host text not null
  pid integer not null
  version text not null
  operations text[] not null
  started_at timestamp with time zone not null default clock_timestamp()
  seen_at timestamp with time zone not null default clock_timestamp()
  constraint worker_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX worker_pkey ON sluice.worker USING btree (id)
function create_history_partitions(weeks_ahead integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function drop_history_partitions(keep_days integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function end_operation(p_id uuid, p_status text, p_reason text, p_error jsonb, p_actor text, p_failed_batch uuid) returns boolean set {"search_path=pg_catalog, pg_temp"}
function record_transition() returns trigger set {"search_path=pg_catalog, pg_temp"}
