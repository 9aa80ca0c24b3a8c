import sql, { empty, raw, type Sql } from 'sql-template-tag'
import { SluiceError } from '../errors.ts'
import type { Connection } from '../store/connection.ts'
import { sqlstate } from '../store/sqlstate.ts'
import { quote } from './cursor.ts'

/** A query for records, and the column by which its rows are told apart and walked. */
export interface Find {
  query: Sql
  key: string
}

/** Records of a table, and how long ago something must have happened to them. */
export interface FindSpec {
  /** As you would write it in SQL. */
  table: string
  /** The column that tells rows apart, served by an index. Default: `id`. */
  key?: string
  /** Which rows are meant. */
  where: Sql
  /** Only those whose `by` is so long ago, by the database's clock. */
  olderThanMs: number
  /** The column that says when the row has come into this state. */
  by: string
}

/** The query for records that are as they are for longer than they should be. */
export function aged({ table, key = 'id', where, olderThanMs, by }: FindSpec): Find {
  return { key, query: sql`select * from ${raw(table)} where (${where}) and ${olderThan(by, olderThanMs)}` }
}

/** The condition that a column holds a moment that is so long ago. */
export function olderThan(column: string, ms: number): Sql {
  return sql`${raw(quote(column))} < now() - ${ms}::float8 * interval '1 millisecond'`
}

/** A record that was found. */
export interface Found {
  key: string
  row: Record<string, unknown>
}

/** Reads the next records behind a key, in the order of the key. */
export async function readFound(
  connection: Connection,
  { query, key }: Find,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<Found[]> {
  const column = raw(`found.${quote(key)}`)
  const behind = after === undefined ? empty : sql`where ${column} > ${after}`
  const page = sql`
    select ${column}::text as sluice_key, found.*
    from (${query}) found
    ${behind}
    order by ${column}
    limit ${limit}`
  try {
    const { rows } = await connection.query(page.text, page.values)
    return rows.map(({ sluice_key: text, ...row }) => ({ key: text as string, row }))
  } catch (error) {
    if (sqlstate(error)?.startsWith('42') !== true) throw error
    throw new SluiceError('SCOPE_INVALID', {
      message: `The query for records does not work: ${(error as Error).message}. It must be one select that gives the column "${key}".`,
      details: { query: query.text, key },
      cause: error,
    })
  }
}
