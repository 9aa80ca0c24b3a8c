import sql, { raw, type Sql } from 'sql-template-tag'
import type { Connection } from '../../store/connection.ts'
import { sqlstate } from '../../store/sqlstate.ts'
import { quote } from '../fragment.ts'

/** One row of a user's table, by a key of its own. */
export interface RowPlace {
  /** As it is written in SQL. */
  table: string
  /** The column that holds the key. */
  column: string
  key: unknown
}

/** Others hold the lock of a row for longer than one may wait. */
export class RowBusy extends Error {
  override readonly name = 'RowBusy'
}

/** Reads a row and locks it until the transaction ends. Undefined: there is none. */
export async function lockRow(
  tx: Connection,
  place: RowPlace,
  waitMs: number | undefined,
): Promise<Record<string, unknown> | undefined> {
  const before = waitMs === undefined ? undefined : await limitWait(tx, `${waitMs}ms`)
  try {
    const { rows } = await run(tx, sql`select * from ${rowOf(place)} for update`)
    if (before !== undefined) await limitWait(tx, before)
    return rows[0]
  } catch (error) {
    if (sqlstate(error) !== '55P03') throw error
    throw new RowBusy(`The row of ${place.table} is locked by others.`, { cause: error })
  }
}

/** Sets the longest wait for a lock in this transaction; gives what it was. */
async function limitWait(tx: Connection, limit: string): Promise<string> {
  const { rows } = await run(
    tx,
    sql`select now.was, set_config('lock_timeout', ${limit}, true)
        from (select current_setting('lock_timeout') as was offset 0) now`,
  )
  return (rows[0] as { was: string }).was
}

function rowOf({ table, column, key }: RowPlace): Sql {
  return sql`${raw(table)} where ${raw(quote(column))} = ${key}`
}

async function run(connection: Connection, query: Sql): ReturnType<Connection['query']> {
  return connection.query(query.text, query.values)
}
