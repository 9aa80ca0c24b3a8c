import type { Connection } from '../../store/connection.ts'

/** Whether this role may vacuum a table and change its settings. */
export interface VacuumRights {
  vacuum: boolean
  owner: boolean
}

/** What this role may do for the upkeep of a table. From PostgreSQL 17 on a right of its own is enough to vacuum. */
export async function vacuumRights(connection: Connection, table: string): Promise<VacuumRights> {
  const { rows } = await connection.query(
    `select pg_has_role(c.relowner, 'usage') as owner,
       case when current_setting('server_version_num')::int >= 170000 then has_table_privilege(c.oid, 'maintain')
         else false end as maintain
     from pg_class c
     where c.oid = to_regclass($1)`,
    [table],
  )
  const owner = rows[0]?.['owner'] === true
  return { owner, vacuum: owner || rows[0]?.['maintain'] === true }
}

/** Cleans up behind us: not where another vacuum is at work, and without cutting the end of the table off. */
export async function vacuumTable(connection: Connection, table: string): Promise<void> {
  await connection.query(`vacuum (skip_locked, truncate false) ${table}`, [])
}

/** What a table itself says about the truncation of its end by vacuum; null: nothing. */
export async function truncationOf(connection: Connection, table: string): Promise<string | null> {
  const { rows } = await connection.query(
    `select (select option_value from pg_options_to_table(c.reloptions) where option_name = 'vacuum_truncate') as value
     from pg_class c
     where c.oid = to_regclass($1)`,
    [table],
  )
  return (rows[0]?.['value'] as string | null | undefined) ?? null
}

/** Lets vacuum cut off the end of a table or not; null: as if nothing had ever been said. */
export async function setTruncation(connection: Connection, table: string, value: string | null): Promise<void> {
  if (value === null) await connection.query(`alter table if exists ${table} reset (vacuum_truncate)`, [])
  else await connection.query(`alter table if exists ${table} set (vacuum_truncate = ${value === 'true'})`, [])
}
