import { statement } from './statement.ts'

/** What the server says about itself and about the role that asks. */
export interface ServerFacts {
  version_num: number
  version: string
  role: string
  superuser: boolean
  fsync: string
  synchronous_commit: string
  full_page_writes: string
  in_recovery: boolean
  read_only: string
  max_connections: number
  clock: Date
  schema_usage: boolean | null
}

/** Reads facts about the server for a check-up. */
export const facts = statement<void, ServerFacts>(
  'server.facts',
  `select current_setting('server_version_num')::int as version_num, current_setting('server_version') as version,
     current_user::text as role, (select rolsuper from pg_roles where rolname = current_user) as superuser,
     current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
     current_setting('full_page_writes') as full_page_writes, pg_is_in_recovery() as in_recovery,
     current_setting('default_transaction_read_only') as read_only,
     current_setting('max_connections')::int as max_connections, clock_timestamp() as clock,
     case when to_regnamespace('sluice') is null then null
       else has_schema_privilege('sluice', 'usage') end as schema_usage`,
  () => [],
)

/** The rights that a worker needs and the current role has not, as `insert on sluice.batch`. */
export const missingRights = statement<void, { missing: string }>(
  'server.missingRights',
  `select p.right || ' on ' || t.name as missing
   from (values
     ('sluice.operation', 'select,insert,update,delete'),
     ('sluice.batch', 'select,insert,update,delete'),
     ('sluice.worker', 'select,insert,update,delete'),
     ('sluice.disabled_operation', 'select'),
     ('sluice.budget', 'select,update'),
     ('sluice.standstill', 'select'),
     ('sluice.table_setting', 'select,insert,update,delete'),
     ('sluice.tenant_share', 'select,insert,update'),
     ('sluice.recurring_mark', 'select,insert,update'),
     ('sluice.operation_summary', 'select,insert,update'),
     ('sluice.operation_history', 'select,insert'),
     ('sluice.batch_history', 'select,insert'),
     ('sluice.quarantine', 'select,insert,update'),
     ('sluice.transition', 'select,insert'),
     ('sluice.migration', 'select')) t(name, rights),
     unnest(string_to_array(t.rights, ',')) p("right")
   where to_regclass(t.name) is not null
     and not has_table_privilege(to_regclass(t.name), p.right)
   union all
   select 'execute on sluice.create_history_partitions'
   where to_regprocedure('sluice.create_history_partitions(integer)') is not null
     and not has_function_privilege(to_regprocedure('sluice.create_history_partitions(integer)'), 'execute')`,
  () => [],
)
