table alert
  rule text not null
  subject text not null
  firing boolean not null
  severity text not null
  message text not null
  value double precision
  threshold double precision
  streak integer not null default 0
  looked_at timestamp with time zone not null default clock_timestamp()
  changed_at timestamp with time zone not null default clock_timestamp()
  told_at timestamp with time zone
  telling_at timestamp with time zone
  constraint alert_pkey PRIMARY KEY (rule, subject)
  constraint alert_severity_check CHECK ((severity = ANY (ARRAY['warning'::text, 'critical'::text])))
  CREATE UNIQUE INDEX alert_pkey ON sluice.alert USING btree (rule, subject)
table alert_turn
  id boolean not null default true
  constraint alert_turn_id_check CHECK (id)
  constraint alert_turn_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX alert_turn_pkey ON sluice.alert_turn USING btree (id)
table audit
  id bigint not null
  at timestamp with time zone not null default clock_timestamp()
  actor text
  source text not null
  action text not null
  target text not null
  before jsonb
  after jsonb
  reason text
  constraint audit_pkey PRIMARY KEY (id)
  constraint audit_source_check CHECK ((source = ANY (ARRAY['api'::text, 'cli'::text, 'dashboard'::text, 'schedule'::text])))
  CREATE INDEX audit_at_idx ON sluice.audit USING btree (at)
  CREATE INDEX audit_target_idx ON sluice.audit USING btree (target, id)
  CREATE UNIQUE INDEX audit_pkey ON sluice.audit USING btree (id)
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
  crash_nonce uuid
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
table budget with {fillfactor=50,autovacuum_vacuum_scale_factor=0,autovacuum_vacuum_threshold=1000}
  kind text not null
  tokens double precision not null default 0
  filled_at timestamp with time zone not null default clock_timestamp()
  constraint budget_kind_check CHECK ((kind = ANY (ARRAY['rows'::text, 'wal'::text])))
  constraint budget_pkey PRIMARY KEY (kind)
  CREATE UNIQUE INDEX budget_pkey ON sluice.budget USING btree (kind)
table claim_turn
  id boolean not null default true
  constraint claim_turn_id_check CHECK (id)
  constraint claim_turn_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX claim_turn_pkey ON sluice.claim_turn USING btree (id)
table disabled_operation
  name text not null
  reason text
  actor text
  disabled_at timestamp with time zone not null default clock_timestamp()
  constraint disabled_operation_pkey PRIMARY KEY (name)
  CREATE UNIQUE INDEX disabled_operation_pkey ON sluice.disabled_operation USING btree (name)
table function_file
  name text not null
  hash text not null
  release text not null
  applied_at timestamp with time zone not null default clock_timestamp()
  constraint function_file_pkey PRIMARY KEY (name)
  CREATE UNIQUE INDEX function_file_pkey ON sluice.function_file USING btree (name)
table inbox
  id integer not null
  name text not null
  constraint inbox_name_key UNIQUE (name)
  constraint inbox_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX inbox_name_key ON sluice.inbox USING btree (name)
  CREATE UNIQUE INDEX inbox_pkey ON sluice.inbox USING btree (id)
table inbox_difference
  inbox_id integer not null
  key_hash uuid not null
  payload_hash uuid not null
  received_at timestamp with time zone not null
  payload jsonb not null
  constraint inbox_difference_pkey PRIMARY KEY (inbox_id, key_hash, payload_hash)
  CREATE UNIQUE INDEX inbox_difference_pkey ON sluice.inbox_difference USING btree (inbox_id, key_hash, payload_hash)
table inbox_key with {autovacuum_vacuum_scale_factor=0.02,autovacuum_vacuum_threshold=5000,autovacuum_vacuum_cost_delay=0}
  inbox_id integer not null
  state smallint not null default 0
  key_hash uuid not null
  payload_hash uuid not null
  message_id bigint not null
  received_at timestamp with time zone not null
  settled_at timestamp with time zone
  expires_at timestamp with time zone not null
  constraint inbox_key_pkey PRIMARY KEY (inbox_id, key_hash)
  constraint inbox_key_state_check CHECK ((state = ANY (ARRAY[0, 1, 2])))
  CREATE INDEX inbox_key_expires_at_idx ON sluice.inbox_key USING btree (expires_at)
  CREATE INDEX inbox_key_open_idx ON sluice.inbox_key USING btree (inbox_id, state, received_at, message_id) WHERE (state <> 1)
  CREATE UNIQUE INDEX inbox_key_pkey ON sluice.inbox_key USING btree (inbox_id, key_hash)
table inbox_message partition by RANGE (received_at)
  id bigint not null
  inbox_id integer not null
  job_id bigint not null
  received_at timestamp with time zone not null
  key text not null
  payload jsonb not null
  CREATE INDEX inbox_message_id_idx ON ONLY sluice.inbox_message USING btree (id)
table job with {autovacuum_vacuum_scale_factor=0,autovacuum_vacuum_threshold=5000,autovacuum_vacuum_cost_delay=0,autovacuum_analyze_scale_factor=0,autovacuum_analyze_threshold=20000}
  id bigint not null
  run_at timestamp with time zone not null
  enqueued_at timestamp with time zone
  claim_id bigint
  key_hash bigint
  queue_id integer not null
  class_id integer not null
  state smallint not null
  priority smallint not null
  attempt smallint not null default 0
  crashes smallint not null default 0
  key_limit smallint
  unique_hash uuid
  args jsonb not null
  key text
  tries jsonb
  tags text[]
  batch_id bigint
  constraint job_pkey PRIMARY KEY (id)
  CREATE INDEX job_batch_id_idx ON sluice.job USING btree (batch_id) WHERE (batch_id IS NOT NULL)
  CREATE INDEX job_key_idx ON sluice.job USING btree (key_hash, state, id) WHERE (key_hash IS NOT NULL)
  CREATE INDEX job_next_idx ON sluice.job USING btree (queue_id, priority, id) WHERE (state = 4)
  CREATE INDEX job_parked_idx ON sluice.job USING btree (key_hash, id) WHERE (state = 1)
  CREATE INDEX job_ready_idx ON sluice.job USING btree (queue_id, priority, id) WHERE (state = 0)
  CREATE INDEX job_scheduled_idx ON sluice.job USING btree (queue_id, run_at) WHERE (state = 2)
  CREATE INDEX job_scheduled_key_idx ON sluice.job USING btree (run_at) WHERE (state = 3)
  CREATE UNIQUE INDEX job_pkey ON sluice.job USING btree (id)
table job_attempt partition by RANGE (at)
  job_id bigint not null
  at timestamp with time zone not null default clock_timestamp()
  next_at timestamp with time zone
  worker_id uuid
  run_ms integer
  attempt smallint not null
  verdict text not null
  reason text not null
  error jsonb
  CREATE INDEX job_attempt_job_id_idx ON ONLY sluice.job_attempt USING btree (job_id)
table job_batch with {fillfactor=50,autovacuum_vacuum_scale_factor=0,autovacuum_vacuum_threshold=1000,autovacuum_vacuum_cost_delay=0}
  id bigint not null
  parent_id bigint
  opened_at timestamp with time zone not null default clock_timestamp()
  opened_by xid8 not null default pg_current_xact_id()
  sealed_at timestamp with time zone
  cancelled_at timestamp with time zone
  touched_at timestamp with time zone not null default clock_timestamp()
  total integer not null default 0
  succeeded integer not null default 0
  failed integer not null default 0
  died integer not null default 0
  cancel_reason text
  description text
  on_success jsonb
  on_complete jsonb
  on_death jsonb
  constraint job_batch_pkey PRIMARY KEY (id)
  CREATE INDEX job_batch_parent_id_idx ON sluice.job_batch USING btree (parent_id) WHERE (parent_id IS NOT NULL)
  CREATE UNIQUE INDEX job_batch_pkey ON sluice.job_batch USING btree (id)
table job_batch_addition with {autovacuum_vacuum_scale_factor=0,autovacuum_vacuum_threshold=1000,autovacuum_vacuum_cost_delay=0}
  batch_id bigint not null
  members integer not null
  folded boolean not null default false
  job_ids bigint[] not null
  CREATE INDEX job_batch_addition_batch_id_idx ON sluice.job_batch_addition USING btree (batch_id)
  CREATE INDEX job_batch_addition_new_idx ON sluice.job_batch_addition USING btree (batch_id) WHERE (NOT folded)
table job_batch_callback with {autovacuum_vacuum_scale_factor=0,autovacuum_vacuum_threshold=1000,autovacuum_vacuum_cost_delay=0}
  batch_id bigint not null
  kind text not null
  job_id bigint
  at timestamp with time zone not null default clock_timestamp()
  constraint job_batch_callback_kind_check CHECK ((kind = ANY (ARRAY['success'::text, 'complete'::text, 'death'::text])))
  constraint job_batch_callback_pkey PRIMARY KEY (batch_id, kind)
  CREATE UNIQUE INDEX job_batch_callback_pkey ON sluice.job_batch_callback USING btree (batch_id, kind)
table job_batch_history partition by RANGE (finished_at)
  id bigint not null
  parent_id bigint
  opened_at timestamp with time zone not null
  sealed_at timestamp with time zone not null
  finished_at timestamp with time zone not null
  total integer not null
  succeeded integer not null
  failed integer not null
  died integer not null
  outcome text not null
  cancel_reason text
  description text
  on_success jsonb
  on_complete jsonb
  on_death jsonb
  callbacks jsonb not null
  job_ids bigint[] not null
  constraint job_batch_history_outcome_check CHECK ((outcome = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text])))
  CREATE INDEX job_batch_history_id_idx ON ONLY sluice.job_batch_history USING btree (id)
  CREATE INDEX job_batch_history_parent_id_idx ON ONLY sluice.job_batch_history USING btree (parent_id) WHERE (parent_id IS NOT NULL)
table job_cancel
  job_id bigint not null
  reason text not null
  at timestamp with time zone not null default clock_timestamp()
  constraint job_cancel_pkey PRIMARY KEY (job_id)
  CREATE UNIQUE INDEX job_cancel_pkey ON sluice.job_cancel USING btree (job_id)
table job_claim with {autovacuum_vacuum_scale_factor=0,autovacuum_vacuum_threshold=1000,autovacuum_vacuum_cost_delay=0}
  id bigint not null
  seq bigint not null
  worker_id uuid not null
  job_ids int8multirange not null
  claimed_at timestamp with time zone not null default clock_timestamp()
  constraint job_claim_pkey PRIMARY KEY (id)
  CREATE INDEX job_claim_seq_idx ON sluice.job_claim USING btree (seq)
  CREATE UNIQUE INDEX job_claim_pkey ON sluice.job_claim USING btree (id)
table job_class
  id integer not null
  name text not null
  defaults jsonb not null default '{}'::jsonb
  constraint job_class_name_key UNIQUE (name)
  constraint job_class_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX job_class_name_key ON sluice.job_class USING btree (name)
  CREATE UNIQUE INDEX job_class_pkey ON sluice.job_class USING btree (id)
table job_dead partition by RANGE (finished_at)
  id bigint not null
  claim_id bigint
  enqueued_at timestamp with time zone not null
  finished_at timestamp with time zone not null default clock_timestamp()
  class_id integer not null
  queue_id integer not null
  priority smallint not null
  attempt smallint not null
  crashes smallint not null
  outcome text not null
  reason text not null
  error jsonb
  args jsonb not null
  key text
  key_hash bigint
  key_limit smallint
  tags text[]
  batch_id bigint
  failure text default sluice.failure_of(outcome, reason, error)
  constraint job_dead_outcome_check CHECK ((outcome = ANY (ARRAY['dead'::text, 'discarded'::text, 'cancelled'::text, 'quarantined'::text])))
  CREATE INDEX job_dead_batch_id_idx ON ONLY sluice.job_dead USING btree (batch_id) WHERE (batch_id IS NOT NULL)
  CREATE INDEX job_dead_finished_at_idx ON ONLY sluice.job_dead USING btree (finished_at)
  CREATE INDEX job_dead_id_idx ON ONLY sluice.job_dead USING btree (id)
  CREATE INDEX job_dead_unmoved_idx ON ONLY sluice.job_dead USING btree (class_id, jsonb_hash_extended(args, (0)::bigint)) WHERE ((error ->> 'code'::text) = 'MACHINE_STATE'::text)
table job_history partition by RANGE (finished_at)
  id bigint not null
  claim_id bigint not null
  enqueued_at timestamp with time zone not null
  finished_at timestamp with time zone not null default clock_timestamp()
  class_id integer not null
  queue_id integer not null
  wait_ms integer not null
  run_ms integer not null
  attempt smallint not null
  CREATE INDEX job_history_brin ON ONLY sluice.job_history USING brin (id, finished_at) WITH (pages_per_range='16')
  CREATE INDEX job_history_finished_at_idx ON ONLY sluice.job_history USING btree (finished_at)
table job_key_turn
  place integer not null
  constraint job_key_turn_pkey PRIMARY KEY (place)
  CREATE UNIQUE INDEX job_key_turn_pkey ON sluice.job_key_turn USING btree (place)
table job_lock with {autovacuum_vacuum_scale_factor=0.02,autovacuum_vacuum_threshold=1000}
  hash uuid not null
  job_id bigint not null
  class_id integer not null
  until smallint not null
  expires_at timestamp with time zone not null
  key text not null
  constraint job_lock_pkey PRIMARY KEY (hash)
  constraint job_lock_until_check CHECK ((until = ANY (ARRAY[0, 1])))
  CREATE UNIQUE INDEX job_lock_pkey ON sluice.job_lock USING btree (hash)
table migration
  version integer not null
  name text not null
  compatible boolean not null
  applied_at timestamp with time zone not null default clock_timestamp()
  constraint migration_pkey PRIMARY KEY (version)
  CREATE UNIQUE INDEX migration_pkey ON sluice.migration USING btree (version)
table once_result with {autovacuum_vacuum_scale_factor=0.02,autovacuum_vacuum_threshold=1000}
  hash uuid not null
  scope text not null
  key text not null
  result jsonb
  stored_at timestamp with time zone not null default clock_timestamp()
  expires_at timestamp with time zone not null
  constraint once_result_pkey PRIMARY KEY (hash)
  CREATE INDEX once_result_expires_at_idx ON sluice.once_result USING btree (expires_at)
  CREATE UNIQUE INDEX once_result_pkey ON sluice.once_result USING btree (hash)
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
  walk text not null default 'key'::text
  walk_index text
  carve_size integer
  run_window text
  limiter jsonb
  limited_at timestamp with time zone
  limited_by uuid
  most_lanes integer
  lanes_at timestamp with time zone not null default clock_timestamp()
  tunes_batches boolean not null default false
  tuned_size integer
  approved boolean not null default false
  constraint operation_batch_size_check CHECK ((batch_size > 0))
  constraint operation_carve_size_check CHECK ((carve_size > 0))
  constraint operation_conflicts_check CHECK ((conflicts = ANY (ARRAY['table'::text, 'none'::text])))
  constraint operation_fingerprint_key UNIQUE (fingerprint)
  constraint operation_lanes_check CHECK ((lanes > 0))
  constraint operation_most_lanes_check CHECK ((most_lanes > 0))
  constraint operation_pace_check CHECK (((pace > (0)::double precision) AND (pace <= (1)::double precision)))
  constraint operation_pkey PRIMARY KEY (id)
  constraint operation_priority_check CHECK ((priority = ANY (ARRAY['low'::text, 'normal'::text, 'high'::text])))
  constraint operation_status_check CHECK ((status = ANY (ARRAY['awaiting_approval'::text, 'queued'::text, 'active'::text, 'held'::text, 'pausing'::text, 'paused'::text, 'verifying'::text, 'cancelling'::text])))
  constraint operation_sub_batch_size_check CHECK ((sub_batch_size > 0))
  constraint operation_tuned_size_check CHECK ((tuned_size > 0))
  constraint operation_until_check CHECK ((until = ANY (ARRAY['end'::text, 'empty'::text])))
  constraint operation_walk_check CHECK ((walk = ANY (ARRAY['key'::text, 'sparse'::text, 'found'::text])))
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
table operation_sample_10s partition by RANGE (at)
  operation_id uuid not null
  at timestamp with time zone not null
  name text not null
  rows_seen bigint not null default 0
  rows_changed bigint not null default 0
  batches bigint not null default 0
  sub_batches bigint not null default 0
  quarantined bigint not null default 0
  wal_bytes bigint not null default 0
  run bigint[] not null default '{}'::bigint[]
  size integer
  target_ms real
  status text
  lanes integer
  pace real
  share real
  limiter text
  hold_ms bigint not null default 0
  progress real
  constraint operation_sample_10s_pkey PRIMARY KEY (operation_id, at)
  CREATE UNIQUE INDEX operation_sample_10s_pkey ON ONLY sluice.operation_sample_10s USING btree (operation_id, at)
table operation_sample_1h partition by RANGE (at)
  operation_id uuid not null
  at timestamp with time zone not null
  name text not null
  rows_seen bigint not null default 0
  rows_changed bigint not null default 0
  batches bigint not null default 0
  sub_batches bigint not null default 0
  quarantined bigint not null default 0
  wal_bytes bigint not null default 0
  run bigint[] not null default '{}'::bigint[]
  size integer
  target_ms real
  status text
  lanes integer
  pace real
  share real
  limiter text
  hold_ms bigint not null default 0
  progress real
  constraint operation_sample_1h_pkey PRIMARY KEY (operation_id, at)
  CREATE UNIQUE INDEX operation_sample_1h_pkey ON ONLY sluice.operation_sample_1h USING btree (operation_id, at)
table operation_sample_1m partition by RANGE (at)
  operation_id uuid not null
  at timestamp with time zone not null
  name text not null
  rows_seen bigint not null default 0
  rows_changed bigint not null default 0
  batches bigint not null default 0
  sub_batches bigint not null default 0
  quarantined bigint not null default 0
  wal_bytes bigint not null default 0
  run bigint[] not null default '{}'::bigint[]
  size integer
  target_ms real
  status text
  lanes integer
  pace real
  share real
  limiter text
  hold_ms bigint not null default 0
  progress real
  constraint operation_sample_1m_pkey PRIMARY KEY (operation_id, at)
  CREATE UNIQUE INDEX operation_sample_1m_pkey ON ONLY sluice.operation_sample_1m USING btree (operation_id, at)
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
  CREATE INDEX operation_summary_finished_idx ON sluice.operation_summary USING btree (finished_at)
  CREATE UNIQUE INDEX operation_summary_pkey ON sluice.operation_summary USING btree (id)
table partition_turn
  id boolean not null default true
  constraint partition_turn_id_check CHECK (id)
  constraint partition_turn_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX partition_turn_pkey ON sluice.partition_turn USING btree (id)
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
table queue
  id integer not null
  name text not null
  paused boolean not null default false
  paused_by text
  rate_limit integer
  rate_ms integer
  tokens double precision not null default 0
  tokens_at timestamp with time zone not null default clock_timestamp()
  constraint queue_check CHECK (((rate_limit IS NULL) = (rate_ms IS NULL)))
  constraint queue_name_key UNIQUE (name)
  constraint queue_pkey PRIMARY KEY (id)
  constraint queue_rate_limit_check CHECK ((rate_limit > 0))
  constraint queue_rate_ms_check CHECK ((rate_ms > 0))
  CREATE UNIQUE INDEX queue_name_key ON sluice.queue USING btree (name)
  CREATE UNIQUE INDEX queue_pkey ON sluice.queue USING btree (id)
table queue_sample_10s partition by RANGE (at)
  queue text not null
  at timestamp with time zone not null
  enqueued bigint not null default 0
  started bigint not null default 0
  finished bigint not null default 0
  failed bigint not null default 0
  died bigint not null default 0
  wait bigint[] not null default '{}'::bigint[]
  run bigint[] not null default '{}'::bigint[]
  depth bigint
  oldest_ms bigint
  constraint queue_sample_10s_pkey PRIMARY KEY (queue, at)
  CREATE UNIQUE INDEX queue_sample_10s_pkey ON ONLY sluice.queue_sample_10s USING btree (queue, at)
table queue_sample_1h partition by RANGE (at)
  queue text not null
  at timestamp with time zone not null
  enqueued bigint not null default 0
  started bigint not null default 0
  finished bigint not null default 0
  failed bigint not null default 0
  died bigint not null default 0
  wait bigint[] not null default '{}'::bigint[]
  run bigint[] not null default '{}'::bigint[]
  depth bigint
  oldest_ms bigint
  constraint queue_sample_1h_pkey PRIMARY KEY (queue, at)
  CREATE UNIQUE INDEX queue_sample_1h_pkey ON ONLY sluice.queue_sample_1h USING btree (queue, at)
table queue_sample_1m partition by RANGE (at)
  queue text not null
  at timestamp with time zone not null
  enqueued bigint not null default 0
  started bigint not null default 0
  finished bigint not null default 0
  failed bigint not null default 0
  died bigint not null default 0
  wait bigint[] not null default '{}'::bigint[]
  run bigint[] not null default '{}'::bigint[]
  depth bigint
  oldest_ms bigint
  constraint queue_sample_1m_pkey PRIMARY KEY (queue, at)
  CREATE UNIQUE INDEX queue_sample_1m_pkey ON ONLY sluice.queue_sample_1m USING btree (queue, at)
table reconciler
  name text not null
  next_at timestamp with time zone not null
  nonce uuid
  worker_id uuid
  started_at timestamp with time zone
  finished_at timestamp with time zone
  found bigint not null default 0
  enqueued bigint not null default 0
  error jsonb
  constraint reconciler_pkey PRIMARY KEY (name)
  CREATE UNIQUE INDEX reconciler_pkey ON sluice.reconciler USING btree (name)
table recurring_mark
  fingerprint text not null
  key text[] not null
  marked_at timestamp with time zone not null default clock_timestamp()
  constraint recurring_mark_pkey PRIMARY KEY (fingerprint)
  CREATE UNIQUE INDEX recurring_mark_pkey ON sluice.recurring_mark USING btree (fingerprint)
table sample_clock
  single boolean not null default true
  taken_to timestamp with time zone not null default (clock_timestamp() - '00:01:00'::interval)
  rolled_1m timestamp with time zone not null default clock_timestamp()
  rolled_1h timestamp with time zone not null default clock_timestamp()
  constraint sample_clock_pkey PRIMARY KEY (single)
  constraint sample_clock_single_check CHECK (single)
  CREATE UNIQUE INDEX sample_clock_pkey ON sluice.sample_clock USING btree (single)
table sample_mark
  worker_id uuid not null
  number bigint not null
  at timestamp with time zone not null default clock_timestamp()
  constraint sample_mark_pkey PRIMARY KEY (worker_id)
  CREATE UNIQUE INDEX sample_mark_pkey ON sluice.sample_mark USING btree (worker_id)
table schedule
  name text not null
  rule text not null
  zone text not null
  past_rules text[] not null default '{}'::text[]
  target_kind text not null
  target text not null
  missed text not null
  overlap text not null
  delay_ms bigint not null
  deadline_ms bigint
  run_window text
  enabled boolean not null default true
  disabled_by text
  disabled_reason text
  considered_to timestamp with time zone not null default clock_timestamp()
  last_job_id bigint
  last_operation_id uuid
  last_started_at timestamp with time zone
  created_at timestamp with time zone not null default clock_timestamp()
  seen_at timestamp with time zone not null default clock_timestamp()
  constraint schedule_overlap_check CHECK ((overlap = ANY (ARRAY['skip'::text, 'queue'::text, 'allow'::text])))
  constraint schedule_pkey PRIMARY KEY (name)
  constraint schedule_target_kind_check CHECK ((target_kind = ANY (ARRAY['job'::text, 'operation'::text])))
  CREATE UNIQUE INDEX schedule_pkey ON sluice.schedule USING btree (name)
table schedule_tick partition by RANGE (tick)
  schedule text not null
  tick timestamp with time zone not null
  outcome text not null
  reason text
  job_id bigint
  operation_id uuid
  missed integer not null default 0
  actor text
  settled_at timestamp with time zone not null default clock_timestamp()
  constraint schedule_tick_outcome_check CHECK ((outcome = ANY (ARRAY['started'::text, 'skipped'::text, 'failed'::text])))
  constraint schedule_tick_pkey PRIMARY KEY (schedule, tick)
  CREATE UNIQUE INDEX schedule_tick_pkey ON ONLY sluice.schedule_tick USING btree (schedule, tick)
table server_life
  id uuid not null
table signal_sample_10s partition by RANGE (at)
  signal text not null
  table_name text not null
  at timestamp with time zone not null
  value double precision not null
  soft double precision not null
  hard double precision not null
  constraint signal_sample_10s_pkey PRIMARY KEY (signal, table_name, at)
  CREATE UNIQUE INDEX signal_sample_10s_pkey ON ONLY sluice.signal_sample_10s USING btree (signal, table_name, at)
table signal_sample_1h partition by RANGE (at)
  signal text not null
  table_name text not null
  at timestamp with time zone not null
  value double precision not null
  soft double precision not null
  hard double precision not null
  constraint signal_sample_1h_pkey PRIMARY KEY (signal, table_name, at)
  CREATE UNIQUE INDEX signal_sample_1h_pkey ON ONLY sluice.signal_sample_1h USING btree (signal, table_name, at)
table signal_sample_1m partition by RANGE (at)
  signal text not null
  table_name text not null
  at timestamp with time zone not null
  value double precision not null
  soft double precision not null
  hard double precision not null
  constraint signal_sample_1m_pkey PRIMARY KEY (signal, table_name, at)
  CREATE UNIQUE INDEX signal_sample_1m_pkey ON ONLY sluice.signal_sample_1m USING btree (signal, table_name, at)
table standstill
  only_one boolean not null default true
  reason text
  actor text
  since timestamp with time zone not null default clock_timestamp()
  constraint standstill_only_one_check CHECK (only_one)
  constraint standstill_pkey PRIMARY KEY (only_one)
  CREATE UNIQUE INDEX standstill_pkey ON sluice.standstill USING btree (only_one)
table sweep
  name text not null
  held_until timestamp with time zone
  held_reason text
  wanted_at timestamp with time zone
  constraint sweep_pkey PRIMARY KEY (name)
  CREATE UNIQUE INDEX sweep_pkey ON sluice.sweep USING btree (name)
table sweep_claim with {autovacuum_vacuum_scale_factor=0,autovacuum_vacuum_threshold=1000,autovacuum_vacuum_cost_delay=0}
  sweep text not null
  key text[] not null
  generation uuid not null
  version text
  nonce uuid not null
  worker_id uuid
  claimed_at timestamp with time zone not null default clock_timestamp()
  retry_at timestamp with time zone not null default clock_timestamp()
  attempts smallint not null default 0
  crashes smallint not null default 0
  error jsonb
  quarantined_at timestamp with time zone
  constraint sweep_claim_pkey PRIMARY KEY (sweep, key)
  CREATE INDEX sweep_claim_nonce_idx ON sluice.sweep_claim USING btree (((nonce)::text))
  CREATE INDEX sweep_claim_quarantined_idx ON sluice.sweep_claim USING btree (sweep, quarantined_at) WHERE (quarantined_at IS NOT NULL)
  CREATE INDEX sweep_claim_waiting_idx ON sluice.sweep_claim USING btree (sweep, retry_at) WHERE ((worker_id IS NULL) AND (quarantined_at IS NULL))
  CREATE INDEX sweep_claim_worker_idx ON sluice.sweep_claim USING btree (sweep, worker_id) WHERE (worker_id IS NOT NULL)
  CREATE UNIQUE INDEX sweep_claim_pkey ON sluice.sweep_claim USING btree (sweep, key)
table table_setting
  table_name text not null
  previous text
  set_at timestamp with time zone not null default clock_timestamp()
  constraint table_setting_pkey PRIMARY KEY (table_name)
  CREATE UNIQUE INDEX table_setting_pkey ON sluice.table_setting USING btree (table_name)
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
  jobs text[] not null default '{}'::text[]
  queues text[] not null default '{}'::text[]
  concurrency integer not null default 0
  rules text[] not null default '{}'::text[]
  sweeps text[] not null default '{}'::text[]
  drain_since timestamp with time zone
  drain_by text
  memory_bytes bigint
  loop_lag_ms integer
  transactions real not null default 0
  constraint worker_pkey PRIMARY KEY (id)
  CREATE UNIQUE INDEX worker_pkey ON sluice.worker USING btree (id)
function add_counts(a bigint[], b bigint[]) returns bigint[] set {"search_path=pg_catalog, pg_temp"}
function admit_jobs(keys bigint[]) returns integer security definer set {"search_path=pg_catalog, pg_temp",plan_cache_mode=force_generic_plan}
function admit_waiting_jobs(p_after bigint, p_most integer, OUT admitted integer, OUT next_key bigint) returns record security definer set {"search_path=pg_catalog, pg_temp"}
function batch_members_added(p_jobs jsonb, p_places integer[], p_ids bigint[]) returns void set {"search_path=pg_catalog, pg_temp"}
function batch_members_back(p_tallies jsonb) returns jsonb security definer set {"search_path=pg_catalog, pg_temp"}
function batch_members_ended(p_tallies jsonb) returns jsonb security definer set {"search_path=pg_catalog, pg_temp"}
function busy_queues(p_after integer, p_most integer, OUT ids integer[], OUT next_after integer) returns record set {"search_path=pg_catalog, pg_temp",enable_seqscan=off,enable_bitmapscan=off,jit=off}
function call_back_job_batch(b sluice.job_batch, p_kind text) returns jsonb set {"search_path=pg_catalog, pg_temp"}
function cancel_job_batch(p_id bigint, p_reason text) returns jsonb security definer set {"search_path=pg_catalog, pg_temp"}
function claim_jobs(p_claim_id bigint, p_worker_id uuid, p_classes text[], p_queue_ids integer[], p_lane_queues integer[], p_lane_priorities smallint[], p_lane_floors bigint[], p_limit integer, p_free integer, p_suspects integer, p_life text, p_claims_floor bigint, OUT jobs text, OUT queues text, OUT missing boolean, OUT life text, OUT claims_floor bigint, OUT server_ms double precision) returns record set {"search_path=pg_catalog, pg_temp",enable_seqscan=off,jit=off,enable_bitmapscan=off,enable_hashjoin=off,enable_mergejoin=off,enable_sort=off,plan_cache_mode=force_generic_plan}
function complete_jobs(p_ids bigint[], p_claim_ids bigint[], p_wait_ms integer[], p_run_ms integer[], p_empty_claims bigint[]) returns TABLE(ids text, keys text[], batches bigint[]) set {"search_path=pg_catalog, pg_temp",enable_seqscan=off,jit=off,enable_bitmapscan=off,enable_hashjoin=off,enable_mergejoin=off,plan_cache_mode=force_generic_plan}
function complete_member_jobs(p_ids bigint[], p_claim_ids bigint[], p_wait_ms integer[], p_run_ms integer[], p_empty_claims bigint[], p_lock_ms integer) returns TABLE(ids text, keys text[], news jsonb) set {"search_path=pg_catalog, pg_temp"}
function completed_jobs(p_ids bigint[], p_claim_ids bigint[], p_from timestamp with time zone, p_to timestamp with time zone) returns TABLE(id bigint, claim_id bigint) set {"search_path=pg_catalog, pg_temp",enable_seqscan=off,jit=off,enable_bitmapscan=off}
function count_completed_members(p_id bigint, p_from timestamp with time zone, p_to timestamp with time zone) returns bigint set {"search_path=pg_catalog, pg_temp",enable_seqscan=off,jit=off,enable_bitmapscan=off}
function create_history_partitions(weeks_ahead integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function create_inbox_partitions(days_ahead integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function create_job_batch_partitions(weeks_ahead integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function create_job_partitions(days_ahead integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function create_partition(parent text, begins timestamp without time zone, days integer) returns integer set {"search_path=pg_catalog, pg_temp"}
function create_partitions(parents text[], days integer, ahead integer) returns integer set {"search_path=pg_catalog, pg_temp"}
function create_sample_partitions() returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function create_schedule_partitions(around timestamp with time zone) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function drop_history_partitions(keep_days integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function drop_inbox_partitions(keep_days integer, keep_failed_days integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function drop_job_batch_partitions(keep_days integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function drop_job_partitions(keep_days integer, keep_dead_days integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function drop_partition(parent text, child text) returns integer set {"search_path=pg_catalog, pg_temp",lock_timeout=500ms}
function drop_sample_partitions(keep_days integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function drop_schedule_partitions(keep_days integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function end_operation(p_id uuid, p_status text, p_reason text, p_error jsonb, p_actor text, p_failed_batch uuid) returns boolean set {"search_path=pg_catalog, pg_temp"}
function end_waiting_jobs(p_ids bigint[], p_outcome text, p_reason text) returns TABLE(id bigint, key text, batch_id bigint) set {"search_path=pg_catalog, pg_temp"}
function end_waiting_members(p_ids bigint[], p_outcome text, p_reason text, OUT touched jsonb, OUT news jsonb) returns record set {"search_path=pg_catalog, pg_temp"}
function enqueue(jobs text, notify boolean, checked boolean, alone boolean) returns TABLE(at integer, id bigint, duplicate boolean) security definer set {"search_path=pg_catalog, pg_temp"}
function enqueue_names(p_classes text[], p_queues text[]) returns TABLE(kind text, name text, id integer) security definer set {"search_path=pg_catalog, pg_temp"}
function enqueue_plain(p_classes text[], p_queues text[], p_class_places integer[], p_queue_places integer[], p_priorities smallint[], p_args text, p_notify boolean, OUT ids text) returns text security definer set {"search_path=pg_catalog, pg_temp"}
function enqueue_problem(x jsonb) returns text set {"search_path=pg_catalog, pg_temp",extra_float_digits=1}
function failure_of(p_outcome text, p_reason text, p_error jsonb) returns text set {"search_path=pg_catalog, pg_temp"}
function fold_job_batch(p_id bigint) returns void set {"search_path=pg_catalog, pg_temp"}
function forget_acts(keep_days integer, most integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function forget_summaries(keep_days integer, most integer) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function hint(queues text[]) returns text
function inbox_id(p_name text) returns integer security definer set {"search_path=pg_catalog, pg_temp"}
function inbox_receive(p_inboxes text[], p_key_hashes uuid[], p_payload_hashes uuid[], p_keep_ms bigint[], p_keys text[], p_jobs text, p_payloads text, p_notify boolean) returns TABLE(at integer, id bigint, duplicate boolean, differs boolean) security definer set {"search_path=pg_catalog, pg_temp",enable_seqscan=off,jit=off,enable_hashjoin=off,enable_mergejoin=off,plan_cache_mode=force_generic_plan}
function job_batch_problem(s jsonb) returns text set {"search_path=pg_catalog, pg_temp"}
function job_priority(name text) returns smallint
function join_job_batch(p_id bigint, p_member bigint) returns sluice.job_batch set {"search_path=pg_catalog, pg_temp"}
function lock_claims() returns void set {"search_path=pg_catalog, pg_temp"}
function lock_job_batch(p_id bigint) returns text security definer set {"search_path=pg_catalog, pg_temp"}
function lock_job_keys(keys bigint[]) returns void set {"search_path=pg_catalog, pg_temp"}
function lock_partitions() returns void set {"search_path=pg_catalog, pg_temp"}
function may_start(p_hash uuid, p_job_id bigint) returns boolean set {"search_path=pg_catalog, pg_temp"}
function mend_job_batch(p_id bigint, p_keep_days integer, p_seen timestamp with time zone, p_completed bigint) returns jsonb security definer set {"search_path=pg_catalog, pg_temp"}
function old_partitions(parent text, days integer, keep_days integer) returns TABLE(child text, day date) set {"search_path=pg_catalog, pg_temp"}
function open_job_batch(spec text) returns bigint security definer set {"search_path=pg_catalog, pg_temp"}
function queue_counts(p_most integer, p_pages integer) returns TABLE(queue text, due bigint, waiting bigint, scheduled bigint, blocked bigint, running bigint, parked bigint, estimated boolean, oldest_ms bigint) set {"search_path=pg_catalog, pg_temp",enable_seqscan=off,enable_bitmapscan=off,jit=off}
function queue_depths(p_most integer, p_pages integer) returns TABLE(queue text, depth bigint, estimated boolean, oldest_ms bigint) set {"search_path=pg_catalog, pg_temp"}
function record_act(p_actor text, p_source text, p_action text, p_target text, p_before jsonb, p_after jsonb, p_reason text) returns bigint security definer set {"search_path=pg_catalog, pg_temp"}
function record_transition() returns trigger set {"search_path=pg_catalog, pg_temp"}
function refuse_change() returns trigger set {"search_path=pg_catalog, pg_temp"}
function require_read_committed(p_what text) returns void set {"search_path=pg_catalog, pg_temp"}
function roll_up(p_from text, p_to text, p_width text, p_since timestamp with time zone, p_until timestamp with time zone) returns void set {"search_path=pg_catalog, pg_temp"}
function seal_job_batch(p_id bigint) returns jsonb security definer set {"search_path=pg_catalog, pg_temp"}
function set_aside_members(p_ids bigint[]) returns void set {"search_path=pg_catalog, pg_temp"}
function settle_job_batch(p_id bigint, OUT news jsonb, OUT above jsonb) returns record set {"search_path=pg_catalog, pg_temp",enable_seqscan=off,jit=off}
function settle_job_batch_and_above(p_id bigint) returns jsonb set {"search_path=pg_catalog, pg_temp"}
function start_operation(p_operation jsonb, p_who jsonb) returns TABLE(id uuid, created boolean) security definer set {"search_path=pg_catalog, pg_temp",quote_all_identifiers=off}
function sum_counts(bigint[]) returns bigint[]
function take_gauges(p_at timestamp with time zone, p_since interval) returns void set {"search_path=pg_catalog, pg_temp"}
function tallies_by_batch(p_tallies jsonb) returns TABLE(batch bigint, succeeded integer, failed integer, died integer) set {"search_path=pg_catalog, pg_temp"}
function wal_position() returns pg_lsn
function write_samples(p_worker uuid, p_number bigint, p_counts jsonb, OUT taken boolean, OUT next_ms integer) returns record security definer set {"search_path=pg_catalog, pg_temp"}
