import { roles, rightsOf } from './rights.ts'
import { checkSchemaName, inSchema } from './statement.ts'

const opening = `-- Narrow roles for Sluice. Run as an administrator of this database, before or after "sluice migrate", and again
-- after each upgrade; running it twice changes nothing. The roles cannot log in: grant them to your services' accounts,
-- for example: grant sluice_worker to my_app;
do $$
declare
  role text;
  object text;
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
  -- Whoever migrates replaces functions and changes tables, so all of them are the migrator's.
  alter schema sluice owner to sluice_migrator;
  for object in
    select 'table ' || c.oid::regclass
    from pg_class c
    where c.relnamespace = to_regnamespace('sluice') and c.relkind in ('r', 'p')
      and c.relowner <> to_regrole('sluice_migrator')
    union all
    -- The sequence of a column goes with its table.
    select 'sequence ' || c.oid::regclass
    from pg_class c
    where c.relnamespace = to_regnamespace('sluice') and c.relkind = 'S'
      and c.relowner <> to_regrole('sluice_migrator')
      and not exists (select from pg_depend d
                      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i'))
    union all
    select 'type ' || t.oid::regtype
    from pg_type t
    join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
    where t.typnamespace = to_regnamespace('sluice') and t.typowner <> to_regrole('sluice_migrator')
    union all
    select 'routine ' || p.oid::regprocedure
    from pg_proc p
    where p.pronamespace = to_regnamespace('sluice') and p.proowner <> to_regrole('sluice_migrator')
  loop
    execute 'alter ' || object || ' owner to sluice_migrator';
  end loop;
  grant usage on schema sluice to sluice_worker, sluice_enqueue, sluice_dashboard;
  if to_regclass('sluice.migration') is null then
    return;
  end if;

  -- What an earlier release gave and this one does not need goes; nobody sees the moment in between.
  revoke all on all tables in schema sluice from sluice_worker, sluice_enqueue, sluice_dashboard;
  revoke all on all functions in schema sluice from sluice_worker, sluice_enqueue, sluice_dashboard;
  revoke all on all sequences in schema sluice from sluice_worker, sluice_enqueue, sluice_dashboard;

`

const closing = `end
$$;

-- The worker's account also needs rights on the tables that operations change, for example:
--   grant select, update, delete on public.events to my_app;
-- Who may stop all operations and let them go on (sluice ops disable --all) needs beside the worker's rights:
--   grant select, insert, update, delete on sluice.standstill to my_operators;
`

/** One line for each object and role: which right is missing where is easy to see, and to take away. */
function grants(): string {
  const given = new Map<string, string[]>()
  for (const role of roles) {
    for (const { kind, object, right } of rightsOf(role)) {
      const target = `${kind} sluice.${object} to sluice_${role}`
      given.set(target, [...(given.get(target) ?? []), right])
    }
  }
  return [...given].map(([target, rights]) => `  grant ${rights.join(', ')} on ${target};\n`).join('')
}

/** The SQL that makes the narrow roles and gives each what it needs, and no more. */
export function grantsScript(schema: string): string {
  const script = `${opening}${grants()}${closing}`
  return inSchema(script, checkSchemaName(schema)).replaceAll(
    /\bsluice_(migrator|worker|enqueue|dashboard)\b/g,
    `${schema}_$1`,
  )
}
