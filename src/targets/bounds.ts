import type { Connection } from '../store/connection.ts'
import type { Key } from '../store/operations.ts'
import type { Walk } from './window.ts'

/** How many rows lie between keys that are whole numbers, as of the last analyze. */
export interface Bounds {
  rows: number
  /** Equally many rows lie between each two of them. */
  bounds: readonly bigint[]
}

const wholeNumbers = new Set(['smallint', 'integer', 'bigint'])

const boundsSql = `
  select c.reltuples::float8 as rows, s.histogram_bounds::text::bigint[]::text[] as bounds
  from pg_class c
  join pg_stats s on s.schemaname = c.relnamespace::regnamespace::name and s.tablename = c.relname
  where c.oid = to_regclass($1) and c.relkind = 'r' and s.attname = $2 and not s.inherited
    and c.reltuples > 0 and s.histogram_bounds is not null`

/** Whether a walk is along one column of whole numbers, over all rows. */
export function isWhole({ cursor: { columns, types }, only }: Walk): boolean {
  return columns.length === 1 && only === undefined && wholeNumbers.has(types[0] ?? '')
}

/** Whether the one comes before the other, where keys are whole numbers. */
export function isBelow(a: Key, b: Key): boolean {
  return numberOf(a) < numberOf(b)
}

export function numberOf([value = '']: Key): bigint {
  return BigInt(value)
}

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

/**
 * The key up to which about so many rows lie after `lower`. No further than the last bound: how the rows lie that came
 * later is not known. Undefined: nothing is known of what follows.
 */
export function keyAfter({ rows, bounds }: Bounds, lower: Key | null, count: number): bigint | undefined {
  const [first, last] = [bounds[0], bounds.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const from = BigInt(lower?.[0] ?? first)
  if (from >= last) return undefined
  const perBucket = rows / (bounds.length - 1)
  let [at, wanted] = [from < first ? first : from, count]
  for (let i = bounds.findLastIndex((bound) => bound <= at); i < bounds.length - 1; i++) {
    const [begin, end] = [bounds[i] ?? first, bounds[i + 1] ?? last]
    const rest = perBucket * (Number(end - at) / Number(end - begin))
    if (wanted <= rest) return at + BigInt(Math.max(1, Math.round((Number(end - at) * wanted) / rest)))
    wanted -= rest
    at = end
  }
  return last
}
