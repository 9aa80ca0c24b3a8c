import type { Connection } from '../../store/connection.ts'
import type { Slice } from '../walk.ts'
import { countRows } from './window.ts'

/** Rows are in scope although they were just changed. */
class RowsKept extends Error {
  override readonly name = 'RowsKept'
}

/**
 * Looks at the rows of a slice after they were processed, and throws when some are in scope as before. The second pass
 * is the last chance to see them. A preset on a table with a trigger or a rule looks in the first pass, too; work of
 * the user's own does not, because it may leave rows to the second pass.
 */
export async function refuseKept(connection: Connection, { walk, window, scope }: Slice): Promise<void> {
  if (scope === undefined) return
  const rows = await countRows(connection, walk, window, scope)
  if (rows === 0) return
  throw new RowsKept(
    `${rows} of the rows just processed in ${walk.table} ${rows === 1 ? 'is' : 'are'} in scope as before: the change leaves them in scope, a trigger or a rule undoes the change, or the column keeps another value than the one that was set`,
  )
}
