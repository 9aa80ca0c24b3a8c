import sql, { raw, type Sql } from 'sql-template-tag'
import type { Histogram, LeadingColumn } from '../target.ts'
import type { Connection } from '../../store/connection.ts'
import { sqlstate } from '../../store/sqlstate.ts'
import { quote } from '../fragment.ts'

/**
 * Where keys lie in a table, by the statistics that the planner uses: nothing of the table itself is read. Undefined
 * when there are no statistics, or no right to see them. A key of null lies before all rows.
 */
export async function readHistogram(
  connection: Connection,
  column: LeadingColumn,
  keys: readonly (string | null)[],
): Promise<Histogram | undefined> {
  const query = histogramQuery(column, keys)
  try {
    const { rows } = await connection.query(query.text, query.values)
    return rows[0] as Histogram | undefined
  } catch (error) {
    // The answer is an estimate that one can do without; only a lost connection concerns the caller.
    if (sqlstate(error) === undefined) throw error
    return undefined
  }
}

/**
 * Values that are common are in a list of their own, the others between bounds with equally many rows in between.
 * Inside of a bucket, or among rows with the same value, the middle is assumed.
 */
function histogramQuery({ table, column, type }: LeadingColumn, keys: readonly (string | null)[]): Sql {
  const array = raw(`${type}[]`)
  // The empty select gives the key the collation of the column, which a cast alone would not.
  const key = sql`coalesce((select t.${raw(quote(column))} from ${raw(table)} t where false), k.text::${raw(type)})`
  return sql`
    with class as (
      select c.relname, c.relnamespace::regnamespace::name as schema,
        case when c.relkind = 'p'
          then (select sum(greatest(l.reltuples, 0))
                from pg_partition_tree(c.oid) p join pg_class l on l.oid = p.relid where p.isleaf)
          else c.reltuples end::float8 as rows
      from pg_class c
      where c.oid = to_regclass(${table})
    ), stats as (
      select class.rows, s.histogram_bounds::text::${array} as bounds, s.most_common_vals::text::${array} as common,
        s.most_common_freqs as freqs, (select coalesce(sum(f), 0) from unnest(s.most_common_freqs) f) as common_share
      from pg_stats s
      join class on s.schemaname = class.schema and s.tablename = class.relname
      where s.attname = ${column} and (s.histogram_bounds is not null or s.most_common_vals is not null)
      order by s.inherited desc
      limit 1
    )
    select stats.rows, array_agg((common.share + (1 - stats.common_share) * other.share)::float8 order by k.at) as shares
    from stats
    cross join unnest(${keys}::text[]) with ordinality k(text, at)
    cross join lateral (select ${key} as value) key
    cross join lateral (
      select coalesce(sum(case when c.value < key.value then c.freq when c.value = key.value then c.freq / 2 end), 0) as share
      from unnest(stats.common, stats.freqs) c(value, freq)
    ) common
    cross join lateral (
      select case bucket when 0 then 0 when bounds then 1 else (bucket - 0.5) / (bounds - 1) end as share
      from (select coalesce(width_bucket(key.value, stats.bounds), 0) as bucket,
              coalesce(cardinality(stats.bounds), 0) as bounds) place
    ) other
    where stats.rows > 0
    group by stats.rows`
}
