/**
 * Windows of a walk by values: each ends with a value of the walked column, so that an index on that column alone finds
 * them. Rows that share a value stay together as long as they fit into a window. A group that does not fit is split by
 * the other columns of the cursor, which may take a sort of the group.
 */
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import type { Connection } from '../../store/connection.ts'
import type { Stretch } from '../work.ts'
import { stepsOf, type KeyWindow, type Walk } from '../walk.ts'
import { columnList, keyText, plainText } from './cursor.ts'
import { countRows, firstKey, foundFirst, onWalk, type Place } from './window.ts'

/** The next window of up to `size` rows. A single row gets its whole key: rows that come later are not meant by it. */
export async function nextValues(
  by: Connection,
  walk: Walk,
  { lower, upper, size }: KeyWindow & { size: number },
): Promise<Stretch> {
  const window = { lower, upper }
  const end = await endAt(by, { walk, window, count: size })
  if (end === undefined) return { window, rows: await countRows(by, walk, window) }
  if (size > 1 && !end.tied) return { window: { lower, upper: [end.value] }, rows: size }
  const before = size > 1 ? await valuesBefore(by, walk, { window, value: end.value }) : undefined
  if (before !== undefined) return before
  const split = await keyInGroup(by, walk, { lower, value: end.value, size })
  if (split !== null) return { window: { lower, upper: split }, rows: size }
  // Rows of the group have gone meanwhile: all that are left fit.
  const group = { lower, upper: [end.value] }
  return { window: group, rows: await countRows(by, walk, group) }
}

/** The end of a window of just so many rows; no key where the next row has the same value, or there are fewer. */
export function selectEndOfValues(place: Place): Sql {
  return sql`
    select case when sluice_pair.v[1] = sluice_pair.v[2] then null else ${textOf(place.walk, 'sluice_pair.v[1]')} end
    from (select array(${twoFrom(place)}) as v) sluice_pair
    where cardinality(sluice_pair.v) > 0`
}

/** The value of row number `count`, and whether the next row has it, too. */
async function endAt(connection: Connection, place: Place): Promise<{ value: string; tied: boolean } | undefined> {
  const query = sql`
    select (${textOf(place.walk, 'sluice_pair.v[1]')})[1] as value,
      coalesce(sluice_pair.v[1] = sluice_pair.v[2], false) as tied
    from (select array(${twoFrom(place)}) as v) sluice_pair
    where cardinality(sluice_pair.v) > 0`
  const { rows } = await connection.query(query.text, query.values)
  return rows[0] as { value: string; tied: boolean } | undefined
}

/** The values of row number `count` and the one after it. */
function twoFrom({ walk, window, count }: Place): Sql {
  const column = columnList(stepsOf(walk))
  return sql`
    select ${column} from ${raw(walk.table)} where ${onWalk(walk, window)}
    order by ${column} offset ${count - 1} limit 2`
}

/** The part of a window before a value; undefined: it begins with that value. */
async function valuesBefore(
  connection: Connection,
  walk: Walk,
  { window, value }: { window: KeyWindow; value: string },
): Promise<Stretch | undefined> {
  const column = columnList(stepsOf(walk))
  const below = sql`${onWalk(walk, { ...window, upper: [value] })} and ${column} < ${valueOf(walk, value)}`
  const query = sql`
    select (select count(*) from ${raw(walk.table)} where ${below})::int as rows,
      ${textOf(walk, 'sluice_last.v')} as upper
    from (select ${column} as v from ${raw(walk.table)} where ${below} order by ${column} desc limit 1) sluice_last`
  const { rows } = await connection.query(query.text, query.values)
  const [found] = rows as { rows: number; upper: string[] }[]
  return found && { window: { lower: window.lower, upper: found.upper }, rows: found.rows }
}

/** The key of row number `size` among the rows with a value that come after a key. */
async function keyInGroup(
  connection: Connection,
  walk: Walk,
  { lower, value, size }: { lower: KeyWindow['lower']; value: string; size: number },
): Promise<readonly string[] | null> {
  const { columns, types } = walk.cursor
  const others = columnList({ columns: columns.slice(1), types: types.slice(1) })
  const rows = sql`
    select ${columnList(walk.cursor)}
    from ${raw(walk.table)}
    where ${onWalk(walk, { lower, upper: [value] })} and ${columnList(stepsOf(walk))} = ${valueOf(walk, value)}`
  // Inside of the group its other rows lie ahead, so that walking their key may be the shorter way.
  const isInside = lower?.[0] === value && lower.length > 1
  const query = sql`
    select ${keyText(walk.cursor)} as sluicekey
    from (
      select ${columnList(walk.cursor)}
      from (${rows} ${isInside ? empty : foundFirst}) sluice_found
      order by ${others}
      offset ${size - 1}
      limit 1
    ) sluice_row`
  return firstKey(connection, query)
}

function valueOf({ cursor }: Walk, value: string): Sql {
  return sql`${value}::${raw(cursor.types[0] ?? 'text')}`
}

/** A value of the walked column as a key of that column alone. */
function textOf({ cursor }: Walk, value: string): Sql {
  return raw(`array[${plainText(value, cursor.types[0] ?? 'text')}]`)
}
