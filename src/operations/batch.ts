import type { Sql } from 'sql-template-tag'
import type { Connection, Result } from '../store/connection.ts'
import { deleteRows, readRows, sliceOf, updateRows, type Slice } from '../targets/change.ts'

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

/** A batch for one sub-batch, and what it has changed so far. */
export function openBatch(
  connection: Connection,
  slice: Slice,
  signal: AbortSignal,
): { batch: Batch; changed: () => number } {
  let changed = 0
  const counted = async (work: Promise<number>): Promise<number> => {
    const rows = await work
    changed += rows
    return rows
  }
  const run = (query: Sql): Promise<Result> => connection.query(query.text, query.values)
  const batch: Batch = {
    delete: (where) => counted(deleteRows(connection, slice, where)),
    update: (set, where) => counted(updateRows(connection, slice, set, where)),
    rows: async <Row extends object>(where?: Sql) => (await readRows(connection, slice, where)) as Row[],
    query: async <Row extends object>(statement: Sql) => (await run(statement)).rows as Row[],
    window: sliceOf(slice),
    signal,
  }
  return { batch, changed: () => changed }
}
