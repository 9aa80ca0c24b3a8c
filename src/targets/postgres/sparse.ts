import sql, { raw } from 'sql-template-tag'
import { SluiceError } from '../../errors.ts'
import type { Connection } from '../../store/connection.ts'
import { columnList } from './cursor.ts'
import { explain, withOnlyIndexes } from './explain.ts'
import type { PlanNode } from '../findings.ts'
import type { Walk } from '../walk.ts'

/** Nodes that read no more than the rows that they pass on, in the order of an index. */
const walking = new Set(['Index Scan', 'Index Only Scan', 'Append', 'Merge Append', 'Result'])

/** What keeps a plan from being a walk along an index that holds the wanted rows alone; undefined: it is one. */
export function notAWalk(node: PlanNode): string | undefined {
  const type = node['Node Type']
  if (!walking.has(type)) return type === 'Sort' || type === 'Incremental Sort' ? 'it would sort' : 'it would scan'
  if (node.Filter !== undefined && type !== 'Result') {
    return `${node['Index Name'] ?? type} would be filtered by ${node.Filter}`
  }
  return (node.Plans ?? []).map(notAWalk).find((problem) => problem !== undefined)
}

/**
 * Proves that a sparse walk reads no rows but those in scope: asked for them in the order of the cursor, the server
 * finds them all by the conditions of an index. Without that, each step could read the whole table. Gives what is in the
 * way, if anything is. The connection is inside a transaction.
 */
export async function problemOfWalk(
  connection: Connection,
  { only, table, cursor }: Walk,
): Promise<SluiceError | undefined> {
  if (only === undefined) return undefined
  const query = sql`
    select ${columnList(cursor)}
    from ${raw(table)}
    where (${only})
    order by ${columnList(cursor)}`
  const problem = notAWalk(await withOnlyIndexes(connection, () => explain(connection, query, 'plain')))
  if (problem === undefined) return undefined
  return new SluiceError('CARVE_NOT_INDEXED', {
    message: `No index of ${table} serves the scope in the order of the cursor (${cursor.columns.join(', ')}): ${problem}. Create one, such as an index on the cursor columns with the scope as its WHERE, or leave out carve: 'sparse'.`,
    details: { table, cursor: cursor.columns, scope: only.text, problem },
  })
}
