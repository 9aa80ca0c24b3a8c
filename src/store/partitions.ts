import { statement } from './statement.ts'

/** Tables that have a partition for each day or week. */
export interface Partitioned {
  tables: readonly string[]
  unit: 'day' | 'week'
}

/**
 * Whether one of the tables lacks the partition of today or one of those after it. To look is far cheaper than to make
 * them, and waits for nobody.
 */
export const isAnyMissing = statement<Partitioned & { ahead: number }, { missing: boolean }>(
  'partitions.isAnyMissing',
  `select exists (
     select from unnest($1::text[]) t(name)
     cross join generate_series(0, $3::int) a(nth)
     where to_regclass('sluice.' || t.name || '_' || to_char(
       date_trunc($2, clock_timestamp() at time zone 'UTC') + a.nth * ('1 ' || $2)::interval, 'YYYYMMDD')) is null
   ) as missing`,
  ({ tables, unit, ahead }) => [tables, unit, ahead],
)

/** Whether one of the tables has a partition that is older than the days to keep. */
export const isAnyOlder = statement<Partitioned & { keepDays: number }, { older: boolean }>(
  'partitions.isAnyOlder',
  `select exists (
     select from unnest($1::text[]) t(name)
     join pg_inherits i on i.inhparent = to_regclass('sluice.' || t.name)
     join pg_class c on c.oid = i.inhrelid
     where c.relname ~ '_[0-9]{8}$'
       and right(c.relname, 8) < to_char(
         (clock_timestamp() at time zone 'UTC')::date - greatest($3::int, 1) - ('1 ' || $2)::interval, 'YYYYMMDD')
   ) as older`,
  ({ tables, unit, keepDays }) => [tables, unit, keepDays],
)
