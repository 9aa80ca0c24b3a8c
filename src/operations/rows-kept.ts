import type { Connection } from '../store/connection.ts'
import type { Slice } from '../targets/change.ts'
import { countRows } from '../targets/window.ts'

/** Rows are in scope although they were just changed. */
class RowsKept extends Error {
  override readonly name = 'RowsKept'
}

/** Looks at the rows of a slice after they were changed, and throws when some are in scope as before. */
export async function refuseKept(connection: Connection, { walk, window, scope }: Slice): Promise<void> {
  if (scope === undefined) return
  const rows = await countRows(connection, walk, window, scope)
  if (rows === 0) return
  throw new RowsKept(
    `${rows} of the rows just changed in ${walk.table} ${rows === 1 ? 'is' : 'are'} in scope as before: a trigger or a rule undoes the change, or the column keeps another value than the one that was set`,
  )
}
