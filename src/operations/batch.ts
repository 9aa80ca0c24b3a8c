import type { Sql } from 'sql-template-tag'
import type { Connection } from '../store/connection.ts'
import { deleteRows, readRows, sliceOf, updateRows, type Slice } from '../targets/change.ts'
import { countRows } from '../targets/window.ts'

/**
 * The rows of one sub-batch, and the transaction in which they change. Whatever runs through it commits together with
 * the checkpoint, or not at all.
 */
export interface Batch {
  /** Deletes the rows of this sub-batch that also meet `where`; gives their number. */
  delete(where?: Sql): Promise<number>
  /** Updates the rows of this sub-batch that also meet `where`, as in ``update(sql`state = 'new'`)``; gives their number. */
  update(set: Sql, where?: Sql): Promise<number>
  /** Reads the rows of this sub-batch in key order and locks them until the transaction ends. */
  rows<Row extends object = Record<string, unknown>>(where?: Sql): Promise<Row[]>
  /** Runs any statement in the transaction. Bound it by {@link Batch.window}, so that it stays small. */
  query<Row extends object = Record<string, unknown>>(statement: Sql): Promise<Row[]>
  /** The predicate of this sub-batch (key window and scope) on the walked table, for statements of your own. */
  readonly window: Sql
  /** Aborts when the batch was lost to another worker or the worker must end: stop early, nothing will be committed. */
  readonly signal: AbortSignal
}

/** Rows that a sub-batch met and changed. */
export interface Tally {
  matched: number
  changed: number
}

/** A batch for one sub-batch, and the account of what it met and changed. */
export function openBatch(
  connection: Connection,
  slice: Slice,
  signal: AbortSignal,
  { counts = false }: { counts?: boolean } = {},
): { batch: Batch; tally: () => Promise<Tally> } {
  let changed = 0
  let matched: Promise<number> | undefined
  // A change of the whole slice tells how many rows are in scope, unless some may stay as they are (`counts`); else they
  // are counted, before the first change.
  const count = (): Promise<number> => (matched ??= countRows(connection, slice.walk, slice.window, slice.scope))
  const change = async (where: Sql | undefined, work: () => Promise<number>): Promise<number> => {
    if (counts || where !== undefined) await count()
    const rows = await work()
    matched ??= Promise.resolve(rows)
    changed += rows
    return rows
  }
  const batch: Batch = {
    delete: (where) => change(where, () => deleteRows(connection, slice, where)),
    update: (set, where) => change(where, () => updateRows(connection, slice, set, where)),
    async rows<Row extends object>(where?: Sql) {
      if (where !== undefined) await count()
      const rows = await readRows(connection, slice, { where, locked: true })
      matched ??= Promise.resolve(rows.length)
      return rows as Row[]
    },
    async query<Row extends object>(statement: Sql) {
      await count()
      return (await connection.query(statement.text, statement.values)).rows as Row[]
    },
    window: sliceOf(slice),
    signal,
  }
  return { batch, tally: async () => ({ matched: await count(), changed }) }
}
