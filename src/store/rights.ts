/**
 * Who may do what with our tables, sequences and functions: the one list. `sluice grants` makes SQL of it, `sluice
 * doctor` looks whether a role has what stands here, and the tests compare it with what the server says. A table or a
 * security definer function that is missing here fails a test.
 */

/** The roles that work; the fourth one, the migrator, owns everything. */
export const roles = ['worker', 'enqueue', 'dashboard'] as const
export type Role = (typeof roles)[number]

/** SQL rights by role; no role: nobody but the owner, and the functions that run with the owner's rights. */
type Grant = Partial<Record<Role, string>>

const read = 'select'
const add = 'select, insert'
const write = 'select, insert, update'
const change = 'select, insert, update, delete'

export const tableRights: Record<string, Grant> = {
  migration: { worker: read, enqueue: read, dashboard: read },
  function_file: { worker: read, enqueue: read, dashboard: read },
  partition_turn: {},
  worker: { worker: change, enqueue: read, dashboard: read },

  // Operations are started by a function alone, which writes down who did it.
  operation: { worker: change, enqueue: read, dashboard: read },
  batch: { worker: change, enqueue: read, dashboard: read },
  // History is written once. What is taken up again comes back from it, one operation at a time.
  operation_history: { worker: 'select, insert, delete', enqueue: read, dashboard: read },
  batch_history: { worker: write, dashboard: read },
  operation_summary: { worker: write, dashboard: read },
  quarantine: { worker: write, dashboard: read },
  transition: { worker: add, enqueue: read, dashboard: read },
  disabled_operation: { worker: change, enqueue: read, dashboard: read },
  // That all work stops is for people to say.
  standstill: { worker: read, enqueue: read, dashboard: read },
  tenant_share: { worker: write, dashboard: read },
  recurring_mark: { worker: write, enqueue: read, dashboard: read },
  budget: { worker: 'select, update', dashboard: read },
  table_setting: { worker: change, dashboard: read },

  queue: { worker: change, dashboard: read },
  job_class: { worker: change, dashboard: read },
  job: { worker: change, dashboard: read },
  job_claim: { worker: change, dashboard: read },
  // To lock its row takes the right to change it.
  claim_turn: { worker: write },
  server_life: { worker: add, dashboard: read },
  job_key_turn: {},
  job_cancel: { worker: change, dashboard: read },
  job_lock: { worker: change, dashboard: read },
  // What has ended is written once. A job that is taken up again comes back from the dead ones, one at a time.
  job_history: { worker: add, dashboard: read },
  job_dead: { worker: 'select, insert, delete', dashboard: read },
  job_attempt: { worker: add, dashboard: read },
  // Counters change by functions alone.
  job_batch: { worker: 'select, delete', dashboard: read },
  job_batch_addition: { worker: 'select, delete', dashboard: read },
  job_batch_callback: { worker: 'select, delete', dashboard: read },
  job_batch_history: { worker: read, dashboard: read },

  schedule: { worker: write, dashboard: read },
  schedule_tick: { worker: add, dashboard: read },
  reconciler: { worker: write, dashboard: read },
  // Messages come in by a function alone. Expired keys and results go in small batches.
  inbox: { worker: read, enqueue: read, dashboard: read },
  inbox_key: { worker: 'select, update, delete', enqueue: read, dashboard: read },
  inbox_message: { worker: 'select, update', dashboard: read },
  // Whoever enqueues sees how many there are, not what is in them.
  inbox_difference: {
    worker: 'select, delete',
    enqueue: 'select (inbox_id, key_hash, payload_hash, received_at)',
    dashboard: read,
  },
  once_result: { worker: change, enqueue: write },
  sweep: { worker: change, dashboard: read },
  sweep_claim: { worker: change, dashboard: read },

  // Samples and the audit are written by functions alone, and nothing of the audit can be changed.
  queue_sample_10s: { worker: read, dashboard: read },
  queue_sample_1m: { worker: read, dashboard: read },
  queue_sample_1h: { worker: read, dashboard: read },
  operation_sample_10s: { worker: read, dashboard: read },
  operation_sample_1m: { worker: read, dashboard: read },
  operation_sample_1h: { worker: read, dashboard: read },
  signal_sample_10s: { worker: read, dashboard: read },
  signal_sample_1m: { worker: read, dashboard: read },
  signal_sample_1h: { worker: read, dashboard: read },
  sample_clock: {},
  sample_mark: {},
  alert: { worker: change, dashboard: read },
  alert_turn: { worker: write },
  audit: { worker: read, dashboard: read },
}

/** Sequences that are read by themselves. */
const sequenceRights: Record<string, Grant> = {
  job_claim_seq_seq: { worker: read },
}

const workers: Grant = { worker: 'execute' }
const both: Grant = { worker: 'execute', enqueue: 'execute' }

/** Functions that run with the owner's rights (security definer). All others run with the rights of their caller. */
export const functionRights: Record<string, Grant> = {
  'create_history_partitions(integer)': workers,
  'drop_history_partitions(integer)': workers,
  'create_job_partitions(integer)': workers,
  'drop_job_partitions(integer, integer)': workers,
  'create_job_batch_partitions(integer)': workers,
  'drop_job_batch_partitions(integer)': workers,
  'create_schedule_partitions(timestamptz)': workers,
  'drop_schedule_partitions(integer)': workers,
  'create_inbox_partitions(integer)': workers,
  'drop_inbox_partitions(integer, integer)': workers,
  'create_sample_partitions()': workers,
  'drop_sample_partitions(integer)': workers,

  'start_operation(jsonb, jsonb)': both,
  'forget_summaries(integer, integer)': workers,

  'enqueue(text, boolean, boolean, boolean)': both,
  'enqueue_names(text[], text[])': both,
  'enqueue_plain(text[], text[], integer[], integer[], smallint[], text, boolean)': both,
  'admit_jobs(bigint[])': both,
  'admit_waiting_jobs(bigint, integer)': workers,

  'open_job_batch(text)': both,
  'seal_job_batch(bigint)': both,
  'cancel_job_batch(bigint, text)': workers,
  'lock_job_batch(bigint)': workers,
  'mend_job_batch(bigint, integer, timestamptz, bigint)': workers,
  'batch_members_ended(jsonb)': workers,
  'batch_members_back(jsonb)': workers,

  'inbox_id(text)': {},
  'inbox_receive(text[], uuid[], uuid[], bigint[], text[], text, text, boolean)': both,

  'write_samples(uuid, bigint, jsonb)': both,
  'record_act(text, text, text, text, jsonb, jsonb, text)': workers,
  'forget_acts(integer, integer)': workers,
}

/** A right of a role on an object of the schema. */
export interface Right {
  kind: 'table' | 'sequence' | 'function'
  /** Without the schema; of a function with its types: `enqueue(text, boolean, boolean)`. */
  object: string
  /** As in SQL: `select`, or of some columns `select (a, b)`. */
  right: string
}

/** The rights of one role, one by one. */
export function rightsOf(role: Role): Right[] {
  return (
    [
      ['table', tableRights],
      ['sequence', sequenceRights],
      ['function', functionRights],
    ] as const
  ).flatMap(([kind, objects]) =>
    Object.entries(objects).flatMap(([object, grant]) =>
      (grant[role]?.match(/\w+( \([^)]*\))?/g) ?? []).map((right) => ({ kind, object, right })),
    ),
  )
}
