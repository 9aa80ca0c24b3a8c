import sql, { empty, raw, type Sql } from 'sql-template-tag'
import { SluiceError } from '../../errors.ts'
import type { Connection } from '../../store/connection.ts'
import { sqlstate } from '../../store/sqlstate.ts'
import { quote, closed } from '../fragment.ts'

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
  return { key, query: sql`select * from ${raw(table)} where (${closed(where)}) and ${olderThan(by, olderThanMs)}` }
}

/** The condition that a column holds a moment that is so long ago. */
export function olderThan(column: string, ms: number): Sql {
  return sql`${raw(quote(column))} < now() - ${ms}::float8 * interval '1 millisecond'`
}

/** A record that was found. */
export interface Found {
  key: string | null
  row: Record<string, unknown>
}

/** Which records to read: from the first one on, those after a key, or those whose key is NULL. */
export type FoundPage = 'first' | 'keyless' | { after: string }

/**
 * Reads the next records in the order of their key, those without one last, and with the last record all that share its
 * key: what is left is after that key, and what has none.
 */
export async function readFound(
  connection: Connection,
  { query, key }: Find,
  { which, limit }: { which: FoundPage; limit: number },
): Promise<Found[]> {
  const column = raw(`found.${quote(key)}`)
  const page = sql`
    select ${column}::text as sluice_key, found.*
    from (${closed(query)}) found
    ${which === 'first' ? empty : which === 'keyless' ? sql`where ${column} is null` : sql`where ${column} > ${which.after}`}
    order by ${column}
    fetch first (${limit}) rows with ties`
  try {
    const { rows } = await connection.query(page.text, page.values)
    return rows.map(({ sluice_key: text, ...row }) => ({ key: text as string | null, row }))
  } catch (error) {
    if (sqlstate(error)?.startsWith('42') !== true) throw error
    throw new SluiceError('SCOPE_INVALID', {
      message: `The query for records does not work: ${(error as Error).message}. It must be one select that gives the column "${key}".`,
      details: { query: query.text, key },
      cause: error,
    })
  }
}
