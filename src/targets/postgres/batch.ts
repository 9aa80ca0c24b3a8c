import type { Sql } from 'sql-template-tag'
import type { Connection } from '../../store/connection.ts'
import { deleteRows, readRows, sliceOf, updateRows } from './change.ts'
import type { Slice } from '../walk.ts'
import type { Batch } from '../work.ts'
import { countRows } from './window.ts'

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
