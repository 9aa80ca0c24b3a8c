/** The schema as text, in an order that does not depend on when things were made. Partitions come and go: left out. */
export async function dumpSchema(db: { query<Row extends object>(text: string): Promise<Row[]> }): Promise<string> {
  const rows = await db.query<{ line: string }>(`
    with relation as (
      select c.oid, c.relname, c.relkind, c.reloptions, pg_get_partkeydef(c.oid) as partition_key
      from pg_class c
      where c.relnamespace = 'sluice'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    )
    select line from (
      select relname as name, 0 as part, 0 as at, 'table ' || relname
        || coalesce(' partition by ' || partition_key, '') || coalesce(' with ' || reloptions::text, '') as line
      from relation
      union all
      select relname, 1, attnum, '  ' || attname || ' ' || format_type(atttypid, atttypmod)
        || case when attnotnull then ' not null' else '' end
        || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
      from relation r
      join pg_attribute a on a.attrelid = r.oid and attnum > 0 and not attisdropped
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      union all
      select relname, 2, 0, '  constraint ' || conname || ' ' || pg_get_constraintdef(k.oid)
      from relation r
      join pg_constraint k on k.conrelid = r.oid and k.contype <> 'n'
      union all
      select relname, 3, 0, '  ' || pg_get_indexdef(i.indexrelid)
      from relation r
      join pg_index i on i.indrelid = r.oid
      union all
      select 'zz ' || p.proname, 4, 0, 'function ' || p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ') returns '
        || pg_get_function_result(p.oid) || case when p.prosecdef then ' security definer' else '' end
        || coalesce(' set ' || p.proconfig::text, '')
      from pg_proc p
      where p.pronamespace = 'sluice'::regnamespace
    ) l
    order by name, part, at, line`)
  return `${rows.map(({ line }) => line).join('\n')}\n`
}
