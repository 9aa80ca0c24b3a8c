import sql, { join, raw, type Sql } from 'sql-template-tag'
import type { Touched } from '../findings.ts'
import type { Connection, StoreConnection } from '../../store/connection.ts'
import type { Key } from '../../store/operations.ts'
import { sliceOf } from './change.ts'
import type { Slice, Walk } from '../walk.ts'
import { columnList, keyText } from './cursor.ts'

/** A row as texts, to be shown to a person; long values are cut. */
export interface ShownRow {
  key: Key
  values: Record<string, string | null>
}

/** A value that is longer than this is cut; its digest tells whether it changed all the same. */
const longest = 200

function shown({ table, cursor }: Walk): Sql {
  return sql`
    ${keyText(cursor)} as sluicekey,
    (select json_object_agg(e.key, case when length(e.value) > ${longest}
        then left(e.value, ${longest}) || '... (' || length(e.value) || ' characters, md5 ' || left(md5(e.value), 8) || ')'
        else e.value end)
     from json_each_text(to_json(${raw(table)}.*)) e) as sluicevalues`
}

/** The first rows of a slice. */
export async function readShown(connection: Connection, slice: Slice, limit: number): Promise<ShownRow[]> {
  const query = sql`
    select ${shown(slice.walk)}
    from ${raw(slice.walk.table)}
    where ${sliceOf(slice)}
    order by ${columnList(slice.walk.cursor)}
    limit ${limit}`
  return rowsOf(connection, query)
}

/** The rows with these keys, as they are now; those that are gone are missing. */
export async function readAgain(connection: Connection, walk: Walk, keys: readonly Key[]): Promise<ShownRow[]> {
  if (keys.length === 0) return []
  const types = walk.cursor.types
  const tuples = keys.map((key) => sql`(${join(key.map((part, i) => sql`${part}::${raw(types[i] ?? 'text')}`))})`)
  const query = sql`
    select ${shown(walk)}
    from ${raw(walk.table)}
    where (${columnList(walk.cursor)}) in (${join(tuples)})`
  return rowsOf(connection, query)
}

async function rowsOf(connection: Connection, query: Sql): Promise<ShownRow[]> {
  const { rows } = await connection.query(query.text, query.values)
  return (rows as { sluicekey: string[]; sluicevalues: ShownRow['values'] }[]).map((row) => ({
    key: row.sluicekey,
    values: row.sluicevalues,
  }))
}

/** What this session has done to tables and not yet reported: take two looks and subtract. */
export async function readTouched(connection: Connection): Promise<Touched[]> {
  const { rows } = await connection.query(
    `select schemaname as schema, relname as name, n_tup_ins::float8 as inserted, n_tup_upd::float8 as updated,
       n_tup_hot_upd::float8 as hot, n_tup_del::float8 as deleted, seq_tup_read::float8 as scanned
     from pg_stat_xact_user_tables
     where n_tup_ins + n_tup_upd + n_tup_del + seq_tup_read > 0`,
    [],
  )
  return rows as unknown as Touched[]
}

/** Bytes of log that the server has written since its beginning, if it tells. Others write, too. */
export async function logPosition(connection: StoreConnection): Promise<number | null> {
  const { rows } = await connection.query(
    `select pg_wal_lsn_diff(${connection.schema}.wal_position(), '0/0')::float8 as at`,
    [],
  )
  return (rows[0] as { at: number | null }).at
}

/** Has the server check now what it would check at the end of the transaction. */
export async function checkConstraints(connection: Connection): Promise<void> {
  await connection.query('set constraints all immediate', [])
}
