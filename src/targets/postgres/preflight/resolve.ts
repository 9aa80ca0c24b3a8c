import type { SluiceError } from '../../../errors.ts'
import type { Database } from '../../../store/database.ts'
import type { Resolved, Wanted } from '../../findings.ts'
import { checkScope } from '../change.ts'
import { checkOrder, resolveCursor } from '../cursor.ts'
import { chooseWalk } from '../choose-walk.ts'
import { checkForeign, checkSettable, checkZone, describeTable } from '../table.ts'

/** Resolves a table and its cursor. What only makes it slow is a problem; what cannot be walked is refused. */
export async function resolve(
  { control }: Pick<Database, 'control'>,
  { table, cursor: given, kinds, changes, ...wanted }: Wanted,
): Promise<Resolved> {
  const shape = await describeTable(control, table)
  checkForeign(shape, control.schema)
  checkSettable(shape, changes.columns ?? [])
  checkZone(shape, changes.timed)
  const problems: SluiceError[] = []
  const cursor = resolveCursor(shape, given, (problem) => problems.push(problem))
  await checkOrder(control, shape.qualifiedName, cursor)
  const scope = wanted.scope()
  if (scope !== undefined) await checkScope(control, shape.qualifiedName, scope)
  const chosen = await chooseWalk(control, { shape, cursor, scope: wanted.meant(), kinds })
  return { ...chosen, scope, rowsEstimate: shape.rowsEstimate, problems }
}
