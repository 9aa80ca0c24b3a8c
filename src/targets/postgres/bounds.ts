import type { Connection } from '../../store/connection.ts'
import { isWhole, type Bounds } from '../bounds.ts'
import type { Walk } from '../walk.ts'

const boundsSql = `
  select c.reltuples::float8 as rows, s.histogram_bounds::text::bigint[]::text[] as bounds
  from pg_class c
  join pg_stats s on s.schemaname = c.relnamespace::regnamespace::name and s.tablename = c.relname
  where c.oid = to_regclass($1) and c.relkind = 'r' and s.attname = $2 and not s.inherited
    and c.reltuples > 0 and s.histogram_bounds is not null`

/**
 * The bounds of a walk along one column of whole numbers, by the statistics that the planner uses. Undefined where keys
 * are something else, where there are no statistics, or no right to see them.
 */
export async function readBounds(connection: Connection, walk: Walk): Promise<Bounds | undefined> {
  if (!isWhole(walk)) return undefined
  const { rows } = await connection.query(boundsSql, [walk.table, walk.cursor.columns[0]])
  const [found] = rows as { rows: number; bounds: string[] }[]
  return found && { rows: found.rows, bounds: found.bounds.map(BigInt) }
}
