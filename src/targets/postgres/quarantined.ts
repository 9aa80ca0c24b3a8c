import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { Connection, StoreConnection } from '../../store/connection.ts'
import type { Key } from '../../store/operations.ts'
import { columnList, keyText } from './cursor.ts'
import { quote } from '../fragment.ts'
import { firstKey, within } from './window.ts'
import type { KeyWindow, Walk } from '../walk.ts'

/**
 * The stretches of a window that are in quarantine, in the order of their keys and cut to the window. Here and not with
 * the other statements on that table, because only the walked table can compare its keys.
 */
export async function quarantinedWithin(
  connection: StoreConnection,
  { operationId, walk, window }: { operationId: string; walk: Walk; window: KeyWindow },
): Promise<KeyWindow[]> {
  const { lower, upper } = window
  const [begins, ends] = [stored(walk, 'lower_key'), stored(walk, 'upper_key')]
  const bound = (key: Key): Sql => join(walk.cursor.types.map((type, i) => sql`${key[i]}::${raw(type)}`))
  const query = sql`
    select lower_key as lower, upper_key as upper, rows,
      lower_key is null ${lower === null ? empty : sql`or (${begins}) <= (${bound(lower)})`} as "fromStart",
      (${ends}) > (${bound(upper)}) as "toEnd"
    from ${raw(connection.schema)}.quarantine
    where operation_id = ${operationId}
      and retried_at is null
      ${lower === null ? empty : sql`and (${ends}) > (${bound(lower)})`}
      and (lower_key is null or (${begins}) < (${bound(upper)}))
    order by ${ends}`
  const { rows } = await connection.query(query.text, query.values)
  const stretches: KeyWindow[] = []
  for (const range of rows as unknown as Stored[]) {
    const cut = { lower: range.fromStart ? lower : range.lower, upper: range.toEnd ? upper : range.upper }
    // A row that is alone has the last key. What came before it since then is not in quarantine.
    const alone = range.rows === 1
    if (!alone) stretches.push(cut)
    else if (!range.toEnd) stretches.push({ ...cut, lower: (await keyBefore(connection, walk, cut)) ?? cut.lower })
  }
  return stretches
}

interface Stored extends KeyWindow {
  rows: number
  /** It begins before the window, and ends behind it. */
  fromStart: boolean
  toEnd: boolean
}

/** The last key of a window before its upper end. */
async function keyBefore(connection: Connection, walk: Walk, window: KeyWindow): Promise<Key | null> {
  const { types } = walk.cursor
  const end = join(types.map((type, i) => sql`${window.upper[i]}::${raw(type)}`))
  const query = sql`
    select ${keyText(walk.cursor)} as sluicekey
    from ${raw(walk.table)}
    where ${within(walk, window)} and (${columnList(walk.cursor)}) <> (${end})
    order by ${columnList(walk.cursor, ' desc')}
    limit 1`
  return firstKey(connection, query)
}

/** A stored key as values that compare as those of the walked columns do, by whose collation only they themselves know. */
function stored({ table, cursor }: Walk, column: string): Sql {
  return join(
    cursor.columns.map((name, i) => {
      const value = `${column}[${i + 1}]::${cursor.types[i] ?? 'text'}`
      return raw(`coalesce(${value}, (select ${quote(name)} from ${table} limit 0))`)
    }),
  )
}
