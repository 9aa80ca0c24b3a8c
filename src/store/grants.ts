import { checkSchemaName, inSchema } from './statement.ts'

const script = `-- Narrow roles for Sluice. Run as an administrator of this database, before or after "sluice migrate", and again
-- after each upgrade; running it twice changes nothing. The roles cannot log in: grant them to your services' accounts,
-- for example: grant sluice_worker to my_app;
do $$
declare
  role text;
  object regclass;
begin
  foreach role in array array['sluice_migrator', 'sluice_worker', 'sluice_enqueue', 'sluice_dashboard'] loop
    if to_regrole(role) is null then
      execute format('create role %I nologin', role);
    end if;
  end loop;
  execute format('grant create on database %I to sluice_migrator', current_database());

  if to_regnamespace('sluice') is null then
    return;
  end if;
  alter schema sluice owner to sluice_migrator;
  for object in
    select c.oid from pg_class c
    where c.relnamespace = to_regnamespace('sluice') and c.relkind in ('r', 'p') and c.relowner <> to_regrole('sluice_migrator')
  loop
    execute format('alter table %s owner to sluice_migrator', object);
  end loop;
  grant usage on schema sluice to sluice_worker, sluice_enqueue, sluice_dashboard;
  if to_regclass('sluice.migration') is null then
    return;
  end if;
  alter function sluice.create_history_partitions(integer) owner to sluice_migrator;
  alter function sluice.drop_history_partitions(integer) owner to sluice_migrator;
  alter function sluice.forget_summaries(integer, integer) owner to sluice_migrator;
  alter function sluice.create_job_partitions(integer) owner to sluice_migrator;
  alter function sluice.drop_job_partitions(integer, integer) owner to sluice_migrator;
  alter function sluice.admit_jobs(bigint[]) owner to sluice_migrator;
  alter function sluice.admit_waiting_jobs(bigint, integer) owner to sluice_migrator;
  alter function sluice.enqueue(text, boolean, boolean, boolean) owner to sluice_migrator;
  alter function sluice.enqueue_names(text[], text[]) owner to sluice_migrator;
  alter function sluice.enqueue_plain(text[], text[], integer[], integer[], smallint[], text, boolean)
    owner to sluice_migrator;
  alter function sluice.create_schedule_partitions(timestamptz) owner to sluice_migrator;
  alter function sluice.drop_schedule_partitions(integer) owner to sluice_migrator;
  alter sequence sluice.inbox_message_id_seq owner to sluice_migrator;
  alter function sluice.create_inbox_partitions(integer) owner to sluice_migrator;
  alter function sluice.drop_inbox_partitions(integer, integer) owner to sluice_migrator;
  alter function sluice.inbox_id(text) owner to sluice_migrator;
  alter function sluice.inbox_receive(text[], uuid[], uuid[], bigint[], text[], text, text, boolean)
    owner to sluice_migrator;
  alter function sluice.create_job_batch_partitions(integer) owner to sluice_migrator;
  alter function sluice.drop_job_batch_partitions(integer) owner to sluice_migrator;
  alter function sluice.batch_members_ended(jsonb) owner to sluice_migrator;
  alter function sluice.batch_members_back(jsonb) owner to sluice_migrator;
  alter function sluice.open_job_batch(text) owner to sluice_migrator;
  alter function sluice.seal_job_batch(bigint) owner to sluice_migrator;
  alter function sluice.cancel_job_batch(bigint, text) owner to sluice_migrator;
  alter function sluice.lock_job_batch(bigint) owner to sluice_migrator;
  alter function sluice.mend_job_batch(bigint, integer, timestamptz, bigint) owner to sluice_migrator;
  alter function sluice.record_transition() owner to sluice_migrator;
  alter function sluice.end_operation(uuid, text, text, jsonb, text, uuid) owner to sluice_migrator;

  alter function sluice.write_samples(uuid, bigint, jsonb) owner to sluice_migrator;
  alter function sluice.create_sample_partitions() owner to sluice_migrator;
  alter function sluice.drop_sample_partitions(integer) owner to sluice_migrator;
  alter function sluice.record_act(text, text, text, text, jsonb, jsonb, text) owner to sluice_migrator;
  alter function sluice.forget_acts(integer, integer) owner to sluice_migrator;
  alter function sluice.start_operation(jsonb, jsonb) owner to sluice_migrator;

  -- What an earlier release gave and this one does not need goes; nobody sees the moment in between.
  revoke all on all tables in schema sluice from sluice_worker, sluice_enqueue, sluice_dashboard;
  revoke all on all functions in schema sluice from sluice_worker, sluice_enqueue, sluice_dashboard;
  revoke all on all sequences in schema sluice from sluice_worker, sluice_enqueue, sluice_dashboard;

  grant select on sluice.migration to sluice_worker, sluice_enqueue, sluice_dashboard;
  grant select, insert, update, delete on sluice.operation, sluice.batch, sluice.worker, sluice.disabled_operation
    to sluice_worker;
  grant select, update on sluice.budget to sluice_worker;
  -- That all work stops is for people to say.
  grant select on sluice.standstill to sluice_worker, sluice_enqueue, sluice_dashboard;
  grant select, insert, update, delete on sluice.table_setting to sluice_worker;
  grant select, insert, update on sluice.tenant_share, sluice.recurring_mark, sluice.operation_summary to sluice_worker;
  -- History is written once. What is taken up again comes back from it, one operation at a time.
  grant select, insert, delete on sluice.operation_history to sluice_worker;
  grant select, insert, update on sluice.batch_history, sluice.quarantine to sluice_worker;
  grant select, insert on sluice.transition to sluice_worker;
  grant execute on function sluice.create_history_partitions(integer), sluice.drop_history_partitions(integer),
    sluice.forget_summaries(integer, integer), sluice.forget_acts(integer, integer) to sluice_worker;

  grant select, insert, update, delete on sluice.job, sluice.job_claim, sluice.job_lock, sluice.job_cancel,
    sluice.queue, sluice.job_class, sluice.sweep, sluice.sweep_claim to sluice_worker;
  grant select on sequence sluice.job_claim_seq_seq to sluice_worker;
  grant select, insert on sluice.server_life to sluice_worker;
  -- To lock its row takes the right to change it.
  grant select, insert, update on sluice.claim_turn, sluice.alert_turn to sluice_worker;
  -- What has ended is written once. A job that is taken up again comes back from the dead ones, one at a time.
  grant select, insert on sluice.job_history, sluice.job_attempt to sluice_worker;
  grant select, insert, delete on sluice.job_dead to sluice_worker;
  grant execute on function sluice.create_job_partitions(integer), sluice.drop_job_partitions(integer, integer),
    sluice.admit_jobs(bigint[]), sluice.admit_waiting_jobs(bigint, integer),
    sluice.enqueue(text, boolean, boolean, boolean) to sluice_worker;
  grant execute on function sluice.admit_jobs(bigint[]), sluice.enqueue(text, boolean, boolean, boolean),
    sluice.enqueue_names(text[], text[]),
    sluice.enqueue_plain(text[], text[], integer[], integer[], smallint[], text, boolean)
    to sluice_enqueue, sluice_worker;

  grant select, insert, update on sluice.schedule to sluice_worker;
  grant select, insert on sluice.schedule_tick to sluice_worker;
  grant execute on function sluice.create_schedule_partitions(timestamptz), sluice.drop_schedule_partitions(integer)
    to sluice_worker;
  grant select on sluice.schedule, sluice.schedule_tick to sluice_dashboard;
  grant select, insert, update on sluice.reconciler to sluice_worker;
  grant select on sluice.reconciler to sluice_dashboard;
  -- Messages come in by the function alone. Expired keys and results go in small batches.
  grant select, update, delete on sluice.inbox_key to sluice_worker;
  grant select, delete on sluice.inbox_difference to sluice_worker;
  grant select, update on sluice.inbox_message to sluice_worker;
  grant select, delete on sluice.once_result to sluice_worker;
  grant select on sluice.inbox, sluice.inbox_key, sluice.inbox_message, sluice.inbox_difference
    to sluice_worker, sluice_dashboard;
  -- How many there are, not what is in them.
  grant select on sluice.inbox, sluice.inbox_key to sluice_enqueue;
  grant select (inbox_id, key_hash, payload_hash, received_at) on sluice.inbox_difference to sluice_enqueue;
  grant select, insert, update on sluice.once_result to sluice_worker, sluice_enqueue;
  grant execute on function sluice.create_inbox_partitions(integer), sluice.drop_inbox_partitions(integer, integer)
    to sluice_worker;
  grant execute on function sluice.inbox_receive(text[], uuid[], uuid[], bigint[], text[], text, text, boolean)
    to sluice_worker, sluice_enqueue;
  -- Counters change by functions alone.
  grant select, delete on sluice.job_batch, sluice.job_batch_addition, sluice.job_batch_callback to sluice_worker;
  grant select on sluice.job_batch_history to sluice_worker;
  grant execute on function sluice.create_job_batch_partitions(integer), sluice.drop_job_batch_partitions(integer),
    sluice.batch_members_ended(jsonb), sluice.batch_members_back(jsonb), sluice.cancel_job_batch(bigint, text),
    sluice.lock_job_batch(bigint), sluice.mend_job_batch(bigint, integer, timestamptz, bigint) to sluice_worker;
  grant execute on function sluice.open_job_batch(text), sluice.seal_job_batch(bigint) to sluice_enqueue, sluice_worker;

  -- Samples and the audit are written by functions alone, and nothing of the audit can be changed.
  grant execute on function sluice.write_samples(uuid, bigint, jsonb) to sluice_worker, sluice_enqueue;
  grant execute on function sluice.record_act(text, text, text, text, jsonb, jsonb, text) to sluice_worker;
  grant execute on function sluice.create_sample_partitions(), sluice.drop_sample_partitions(integer) to sluice_worker;
  grant select, insert, update, delete on sluice.alert to sluice_worker;
  grant select on sluice.queue_sample_10s, sluice.queue_sample_1m, sluice.queue_sample_1h, sluice.operation_sample_10s,
    sluice.operation_sample_1m, sluice.operation_sample_1h, sluice.signal_sample_10s, sluice.signal_sample_1m,
    sluice.signal_sample_1h, sluice.alert, sluice.audit to sluice_worker, sluice_dashboard;

  -- Operations are started by the function alone, which writes down who did it.
  grant execute on function sluice.start_operation(jsonb, jsonb) to sluice_worker, sluice_enqueue;
  grant select on sluice.operation, sluice.transition to sluice_enqueue;
  grant select on sluice.disabled_operation, sluice.recurring_mark to sluice_enqueue;
  grant select on sluice.batch, sluice.worker, sluice.operation_history to sluice_enqueue;

  grant select on sluice.operation, sluice.batch, sluice.worker, sluice.operation_history, sluice.batch_history,
    sluice.operation_summary, sluice.quarantine, sluice.transition, sluice.disabled_operation, sluice.tenant_share,
    sluice.recurring_mark, sluice.budget, sluice.table_setting, sluice.job, sluice.job_claim, sluice.server_life, sluice.job_lock,
    sluice.job_cancel, sluice.queue, sluice.job_class, sluice.job_history, sluice.job_dead, sluice.job_attempt,
    sluice.job_batch, sluice.job_batch_addition, sluice.job_batch_callback, sluice.job_batch_history, sluice.sweep,
    sluice.sweep_claim to sluice_dashboard;
end
$$;

-- The worker's account also needs rights on the tables that operations change, for example:
--   grant select, update, delete on public.events to my_app;
-- Who may stop all operations and let them go on (sluice ops disable --all) needs beside the worker's rights:
--   grant select, insert, update, delete on sluice.standstill to my_operators;
`

/** A right of a role on an object of the schema. */
export interface Right {
  kind: 'table' | 'sequence' | 'function'
  /** Without the schema; of a function with its types: `enqueue(text, boolean, boolean)`. */
  object: string
  right: string
}

/** The rights of one of the roles, read from the script that gives them, so that whoever checks them knows them all. */
export function rightsOf(role: 'worker' | 'enqueue' | 'dashboard'): Right[] {
  const grants = script.matchAll(/^ +grant ([a-z, ]+) on (function |sequence |)(sluice\.[^;]+?)\s+to\s+([^;]+);/gm)
  return [...grants].flatMap(([, rights = '', kind = '', objects = '', roles = '']) =>
    roles.split(/,\s*/).includes(`sluice_${role}`)
      ? [...objects.matchAll(/sluice\.(\w+(?:\([^)]*\))?)/g)].flatMap(([, object = '']) =>
          rights.split(', ').map((right) => ({ kind: kindOf(kind), object, right })),
        )
      : [],
  )
}

const kindOf = (kind: string): Right['kind'] =>
  kind === 'function ' ? 'function' : kind === 'sequence ' ? 'sequence' : 'table'

/** The SQL that makes the narrow roles and gives each what it needs, and no more. */
export function grantsScript(schema: string): string {
  return inSchema(script, checkSchemaName(schema)).replaceAll(
    /\bsluice_(migrator|worker|enqueue|dashboard)\b/g,
    `${schema}_$1`,
  )
}
