import sql, { raw, type Sql } from 'sql-template-tag'
import { SluiceError } from '../../errors.ts'
import type { Change, Slice } from '../walk.ts'
import type { Connection } from '../../store/connection.ts'
import { sqlstate } from '../../store/sqlstate.ts'
import { columnList, keyText } from './cursor.ts'
import { closed } from '../fragment.ts'
import { within } from './window.ts'

/** That statement; `also` is a further condition, and `returning 1` lets it be counted. */
export function changeRows(slice: Slice, change: Change, also: Sql): Sql {
  const rows = sql`where ${sliceOf(slice)} and ${also} returning 1`
  const table = raw(slice.walk.table)
  return change.kind === 'delete'
    ? sql`delete from ${table} ${rows}`
    : sql`update ${table} set ${closed(change.set)} ${rows}`
}

/** The predicate of a slice. It stands in the outer statement, so that rows changed meanwhile are checked again. */
export function sliceOf({ walk, window, scope }: Slice, where?: Sql): Sql {
  const inScope = scope === undefined ? within(walk, window) : sql`${within(walk, window)} and (${scope})`
  return where === undefined ? inScope : sql`${inScope} and (${closed(where)})`
}

/** Deletes the rows of a slice; gives their number. */
export async function deleteRows(connection: Connection, slice: Slice, where?: Sql): Promise<number> {
  return affected(connection, sql`delete from ${raw(slice.walk.table)} where ${sliceOf(slice, where)}`)
}

/** Updates the rows of a slice; gives their number. */
export async function updateRows(connection: Connection, slice: Slice, set: Sql, where?: Sql): Promise<number> {
  return affected(connection, sql`update ${raw(slice.walk.table)} set ${closed(set)} where ${sliceOf(slice, where)}`)
}

/** A row of a slice, and its key as the database writes it. */
export interface KeyedRow {
  row: Record<string, unknown>
  key: string[]
}

/** Reads the rows of a slice in key order; locked, they cannot be changed by others until the transaction ends. */
export async function readRows(
  connection: Connection,
  slice: Slice,
  { where, locked }: { where?: Sql | undefined; locked: boolean },
): Promise<Record<string, unknown>[]> {
  const query = sql`
    select *
    from ${raw(slice.walk.table)}
    where ${sliceOf(slice, where)}
    order by ${columnList(slice.walk.cursor)}
    ${raw(locked ? 'for update' : '')}`
  const { rows } = await connection.query(query.text, query.values)
  return rows
}

/** Reads the rows of a slice in key order, each with its key, without locking them. */
export async function readKeyedRows(connection: Connection, slice: Slice): Promise<KeyedRow[]> {
  const query = sql`
    select ${keyText(slice.walk.cursor)} as sluice_key, *
    from ${raw(slice.walk.table)}
    where ${sliceOf(slice)}
    order by ${columnList(slice.walk.cursor)}`
  const { rows } = await connection.query(query.text, query.values)
  return rows.map(({ sluice_key: key, ...row }) => ({ row, key: key as string[] }))
}

/** Has the server plan a scope without running it, so that a mistake shows before anything is written. */
export async function checkScope(connection: Connection, table: string, scope: Sql): Promise<void> {
  const query = sql`explain select from ${raw(table)} where (${scope})`
  try {
    await connection.query(query.text, query.values)
  } catch (error) {
    const state = sqlstate(error)
    if (state === undefined || !/^(42|22|0A|2200)/.test(state)) throw error
    throw new SluiceError(state === '42501' ? 'PERMISSION_DENIED' : 'SCOPE_INVALID', {
      message: `The scope of the operation does not work on ${table}: ${(error as Error).message}. Correct the scope in the definition.`,
      details: { table, scope: scope.text },
      cause: error,
    })
  }
}

async function affected(connection: Connection, query: Sql): Promise<number> {
  const { rowCount } = await connection.query(query.text, query.values)
  return rowCount ?? 0
}
