/**
 * SQL that tells, as `due`, whether tables lack partitions for the time to come ($1: how many) or may have some that are
 * older than the days to keep ($2). To look is far cheaper than to make and drop, and waits for nobody.
 */
export function partitionsDue(tables: readonly string[], unit: 'day' | 'week'): string {
  const parents = tables.map((table) => `'sluice.${table}'`).join(', ')
  return `select exists (
       select from unnest(array[${parents}]) p(name)
       cross join generate_series(0, $1::int) a(nth)
       where to_regclass(p.name || '_' || to_char(
         date_trunc('${unit}', clock_timestamp() at time zone 'UTC') + a.nth * interval '1 ${unit}', 'YYYYMMDD')) is null
     ) or exists (
       select from pg_inherits i
       join pg_class c on c.oid = i.inhrelid
       where i.inhparent = any (array[${parents}]::regclass[]::oid[])
         and c.relname ~ '_[0-9]{8}$'
         and right(c.relname, 8) < to_char(
           (clock_timestamp() at time zone 'UTC')::date - greatest($2::int, 1) - interval '1 ${unit}', 'YYYYMMDD')
     ) as due`
}
