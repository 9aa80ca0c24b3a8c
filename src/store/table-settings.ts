import { statement } from './statement.ts'

/** Makes the place in which the setting of a table is kept. Gives nothing when it is kept already. */
export const keepSetting = statement<{ table: string }, { table_name: string }>(
  'table_setting.keep',
  `insert into sluice.table_setting (table_name)
   values ($1)
   on conflict (table_name) do nothing
   returning table_name`,
  ({ table }) => [table],
)

/** Writes down what a table said before it is changed. */
export const noteSetting = statement<{ table: string; previous: string | null }, { table_name: string }>(
  'table_setting.note',
  `update sluice.table_setting
   set previous = $2
   where table_name = $1
   returning table_name`,
  (p) => [p.table, p.previous],
)

/** Whether the setting of any table is kept. */
export const keepsSettings = statement<void, { kept: boolean }>(
  'table_setting.any',
  `select exists (select from sluice.table_setting) as kept`,
  () => [],
)

/**
 * A table whose setting has to be put back, and that this role may change: nothing unfinished walks it any more. The
 * row is gone, and others wait for it, until the transaction ends.
 */
export const takeSetting = statement<void, { table_name: string; previous: string | null }>(
  'table_setting.take',
  `delete from sluice.table_setting
   where table_name = (
     select s.table_name
     from sluice.table_setting s
     where not exists (select from sluice.operation o where o.table_name = s.table_name and o.started_at is not null)
       and coalesce(
         (select pg_has_role(c.relowner, 'usage') from pg_class c where c.oid = to_regclass(s.table_name)), true)
     order by s.set_at
     limit 1
     for update skip locked)
   returning table_name, previous`,
  () => [],
)
