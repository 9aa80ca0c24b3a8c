import type { Right } from './rights.ts'
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
  /** With which isolation transactions of this role begin in this database; those of Sluice are read committed. */
  isolation: string
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
     (select reset_val from pg_settings where name = 'default_transaction_isolation') as isolation,
     current_setting('max_connections')::int as max_connections, clock_timestamp() as clock,
     case when to_regnamespace('sluice') is null then null
       else has_schema_privilege('sluice', 'usage') end as schema_usage`,
  () => [],
)

/** The rights of a list that the current role has not, object by object, as `insert, update on sluice.batch`. */
export const missingRights = statement<readonly Right[], { missing: string }>(
  'server.missingRights',
  `select string_agg(distinct p."right", ', ') || ' on sluice.' || split_part(p.object, '(', 1) as missing
   from unnest($1::text[], $2::text[], $3::text[]) with ordinality p(kind, object, "right", nth)
   where case p.kind
     when 'function' then not has_function_privilege(to_regprocedure('sluice.' || p.object), p."right")
     when 'sequence' then not has_sequence_privilege(to_regclass('sluice.' || p.object), p."right")
     else not has_table_privilege(to_regclass('sluice.' || p.object), p."right")
   end
   group by p.kind, p.object
   order by min(p.nth)`,
  (rights) => [rights.map(({ kind }) => kind), rights.map(({ object }) => object), rights.map(({ right }) => right)],
)
