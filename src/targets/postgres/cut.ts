/** Finds where the next batch of an operation ends. */
import type { Connection } from '../../store/connection.ts'
import type { Database } from '../../store/database.ts'
import { sqlstate } from '../../store/sqlstate.ts'
import type { Cut, CutWanted, Tail } from '../target.ts'
import { sameKey, type KeyWindow, type Walk } from '../walk.ts'
import type { Sql } from 'sql-template-tag'
import { carveFar } from './replica-reads.ts'
import { countRows, keyAt, lastInScope, lastKey } from './window.ts'

/** The end of the next batch, on a replica where that is allowed. */
export async function findCut(database: Database, walk: Walk, wanted: CutWanted): Promise<Cut> {
  const { limitMs } = wanted
  try {
    const cut = (by: Connection): Promise<Cut> => cutAt(by, walk, wanted)
    const far = await carveFar(database, wanted, { cut, limitMs })
    if (far !== undefined) return far.value
    return await database.work.transaction(cut, { statementMs: limitMs })
  } catch (error) {
    if (sqlstate(error) !== '57014') throw error
    return 'too slow'
  }
}

async function cutAt(connection: Connection, walk: Walk, { from, end: frozen, size }: CutWanted): Promise<Cut> {
  const end = frozen === 'last row' ? await lastKey(connection, walk) : frozen
  if (end === null || sameKey(from, end)) return 'nothing left'
  const window = { lower: from, upper: end }
  const key = await keyAt(connection, { walk, window, count: size })
  if (key !== null) return { upper: key, last: sameKey(key, end) }
  // An end that moves has been reached when there is no row after the last batch; a frozen one just ends the walk.
  if (frozen === 'last row' && (await countRows(connection, walk, window)) === 0) return 'nothing left'
  return { upper: end, last: true }
}

/** The rows of a window after the last one in scope. */
export async function findTail(
  { control }: Database,
  { walk, window, scope, limitMs }: { walk: Walk; window: KeyWindow; scope: Sql; limitMs: number },
): Promise<Tail> {
  return control.transaction(
    async (transaction) => {
      const { rows, last } = await lastInScope(transaction, walk, window, scope)
      if (last === null) return { rows, last }
      return { rows: await countRows(transaction, walk, { lower: last, upper: window.upper }), last }
    },
    { statementMs: limitMs },
  )
}
