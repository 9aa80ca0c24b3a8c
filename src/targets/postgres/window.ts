/**
 * Targets: all SQL on users' tables.
 *
 * The model. A walk is a table and its cursor, a tuple of columns that ends in a unique key. Operations address rows by
 * a key window, which an index range serves. Nothing here knows the states of operations.
 *
 * The invariants. Every statement that changes rows of an operation carries a key window. Names come from the catalog
 * and are quoted; values are bound.
 *
 * On a crash nothing is left here: the caller owns the transaction.
 *
 * Decisions.
 * - Keys are text. Cursor values are stored as text per column, with the type of the column, and only the database
 *   decides their order: JavaScript has neither its types nor its collations. Where keys are whole numbers, split
 *   points are estimated in code, but only as hints.
 * - The choice between one statement and a transaction for a sub-batch is explained in `one-statement.ts`, the choice
 *   of a row's stride in `src/operations/stride.ts`.
 */
import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { Cursor, KeyWindow, Walk } from '../walk.ts'
import type { Connection } from '../../store/connection.ts'
import type { Key } from '../../store/operations.ts'
import { columnList, keyText } from './cursor.ts'
import { quote } from '../fragment.ts'

/** The predicate of a window: one strict lower and one inclusive upper bound, which an index range serves as one. */
export function within({ cursor }: Walk, { lower, upper }: KeyWindow): Sql {
  const below = compare(cursor, '<=', upper)
  return lower === null ? below : sql`${compare(cursor, '>', lower)} and ${below}`
}

function compare(cursor: Cursor, operator: '>' | '<=', key: Key): Sql {
  const bounds = cursor.types.map((type, i) => sql`${key[i]}::${raw(type)}`)
  const [column] = cursor.columns
  return cursor.columns.length === 1 && column !== undefined
    ? sql`${raw(`${quote(column)} ${operator}`)} ${join(bounds)}`
    : sql`(${columnList(cursor)}) ${raw(operator)} (${join(bounds)})`
}

/** The rows of a window that the walk steps on. */
export function onWalk(walk: Walk, window: KeyWindow): Sql {
  return walk.only === undefined ? within(walk, window) : sql`${within(walk, window)} and (${walk.only})`
}

/** The last key of the table, or null when it has no row. */
export async function lastKey(connection: Connection, walk: Walk): Promise<Key | null> {
  const query = sql`
    select ${keyText(walk.cursor)} as sluicekey
    from ${raw(walk.table)}
    order by ${columnList(walk.cursor, ' desc')}
    limit 1`
  return firstKey(connection, query)
}

/** The key of row number `count` on the walk through a window, or null when it has fewer. Walks the index only. */
export async function keyAt(connection: Connection, place: Place): Promise<Key | null> {
  return firstKey(connection, selectKeyAt(place))
}

/** A row on the walk through a window, by its number. */
export interface Place {
  walk: Walk
  window: KeyWindow
  count: number
}

/** The statement that finds its key. The text is made of the one row only: the server would make it of all before it. */
export function selectKeyAt({ walk, window, count }: Place): Sql {
  const rows = sql`select ${columnList(walk.cursor)} from ${raw(walk.table)} where ${onWalk(walk, window)}`
  return sql`
    select ${keyText(walk.cursor)} as sluicekey
    from (
      select ${columnList(walk.cursor)}
      from (${rows} ${walk.unordered === true ? foundFirst : empty}) sluice_found
      order by ${columnList(walk.cursor)}
      offset ${count - 1}
      limit 1
    ) sluice_row`
}

/**
 * Makes the server find all rows of a query before it sorts them. Asked for the first few in the order of the key, it may
 * otherwise walk the key from its beginning, and read most of the table.
 */
const foundFirst = raw('offset 0')

/** How many rows of a window meet a condition, or are on the walk at all; only asked of windows that are small. */
export async function countRows(connection: Connection, walk: Walk, window: KeyWindow, scope?: Sql): Promise<number> {
  const where = scope === undefined ? onWalk(walk, window) : sql`${within(walk, window)} and (${scope})`
  const query = sql`
    select count(*)::int as rows
    from ${raw(walk.table)}
    where ${where}`
  const { rows } = await connection.query(query.text, query.values)
  return (rows[0] as { rows: number } | undefined)?.rows ?? 0
}

/** How many rows of a window are on the walk, and how many of them meet a condition. */
export async function countInScope(
  connection: Connection,
  walk: Walk,
  window: KeyWindow,
  scope: Sql | undefined,
): Promise<{ rows: number; found: number }> {
  const query = sql`
    select count(*)::int as rows, count(*) filter (where ${scope ?? sql`true`})::int as found
    from ${raw(walk.table)}
    where ${onWalk(walk, window)}`
  const { rows } = await connection.query(query.text, query.values)
  return rows[0] as { rows: number; found: number }
}

/**
 * How many rows a window has, and the last key of those that meet a condition; for walks along whole numbers. Read in
 * one process, because others are at work.
 */
export async function lastInScope(
  connection: Connection,
  walk: Walk,
  window: KeyWindow,
  scope: Sql,
): Promise<{ rows: number; last: Key | null }> {
  const query = sql`
    select count(*)::int as rows, array[max(${columnList(walk.cursor)}) filter (where ${scope})::text] as last
    from ${raw(walk.table)}
    where ${onWalk(walk, window)}`
  await connection.query(`select set_config('max_parallel_workers_per_gather', '0', true)`, [])
  const { rows } = await connection.query(query.text, query.values)
  const [found] = rows as { rows: number; last: [string | null] }[]
  const last = found?.last[0] ?? null
  return { rows: found?.rows ?? 0, last: last === null ? null : [last] }
}

/**
 * The key in the first row of a statement. Its name is one that no column has: "order by" takes a name of the select list
 * for a column of the table, and would order by the text. And it is one word: libraries of callers rename others.
 */
export async function firstKey(connection: Connection, query: Sql): Promise<Key | null> {
  const { rows } = await connection.query(query.text, query.values)
  return (rows[0] as { sluicekey: string[] } | undefined)?.sluicekey ?? null
}
