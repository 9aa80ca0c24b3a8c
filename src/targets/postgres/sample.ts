import sql, { raw } from 'sql-template-tag'
import type { Connection } from '../../store/connection.ts'
import type { Key } from '../../store/operations.ts'
import { columnList, keyText } from './cursor.ts'
import { quote } from '../fragment.ts'
import { firstKey, onWalk } from './window.ts'
import type { KeyWindow, Walk } from '../walk.ts'

/**
 * Keys along a walk, in its order and with about equally many rows in between, by the planner's statistics of its leading
 * column. Fewer, or none, where there are no statistics.
 */
export async function keysAlong(
  connection: Connection,
  { walk, range, count }: { walk: Walk; range: KeyWindow; count: number },
): Promise<Key[]> {
  const [column, type] = [walk.cursor.columns[0], walk.cursor.types[0]]
  if (column === undefined || type === undefined) return []
  const array = raw(`${type}[]`)
  const query = sql`
    with known as (
      select unnest(s.histogram_bounds::text::${array} || s.most_common_vals::text::${array}) as value
      from pg_stats s
      join pg_class c on c.relname = s.tablename and c.relnamespace::regnamespace::name = s.schemaname
      where c.oid = to_regclass(${walk.table}) and s.attname = ${column}
    ), part as (
      select value, ntile(${count}) over (order by value) as part
      from known
      where value is not null
    )
    select start.sluicekey
    from (select distinct on (part) part, value from part order by part, value) step
    cross join lateral (
      select ${keyText(walk.cursor)} as sluicekey
      from ${raw(walk.table)}
      where ${onWalk(walk, range)} and ${raw(quote(column))} >= step.value
      order by ${columnList(walk.cursor)}
      limit 1
    ) start
    order by step.part`
  const { rows } = await connection.query(query.text, query.values)
  const keys = (rows as { sluicekey: string[] }[]).map(({ sluicekey: key }) => key)
  return keys.filter((key, i) => JSON.stringify(key) !== JSON.stringify(keys[i - 1]))
}

/** The key that has so many rows behind it; null: there are fewer. */
export async function keyBeforeEnd(
  connection: Connection,
  { walk, range, count }: { walk: Walk; range: KeyWindow; count: number },
): Promise<Key | null> {
  const query = sql`
    select ${keyText(walk.cursor)} as sluicekey
    from ${raw(walk.table)}
    where ${onWalk(walk, range)}
    order by ${columnList(walk.cursor, ' desc')}
    offset ${count}
    limit 1`
  return firstKey(connection, query)
}

/** What a table takes on disk, with what is stored beside its rows and without its indexes. */
export async function tableBytes(connection: Connection, table: string): Promise<number> {
  const { rows } = await connection.query(
    `select sum(pg_table_size(t.oid))::float8 as bytes
     from (select to_regclass($1)::oid as oid
           union select p.relid from pg_partition_tree(to_regclass($1)) p where p.isleaf) t`,
    [table],
  )
  return (rows[0] as { bytes: number | null } | undefined)?.bytes ?? 0
}
