import type { Governed } from '../governor/course.ts'
import type { OperationRow, WalkKind } from '../store/operations.ts'
import { walkOfKind, type Walk } from '../targets/walk.ts'
import { meantBy } from '../targets/work.ts'
import type { OperationDefinition, OperationRegistry } from './definition.ts'

/** The table and the cursor of an operation. */
export function walkOf(operation: Pick<OperationRow, 'table_name' | 'cursor_columns' | 'cursor_types'>): Walk {
  return {
    table: operation.table_name,
    cursor: { columns: operation.cursor_columns, types: operation.cursor_types },
  }
}

/** The walk by which the next batch of an operation is cut. One along the key does not need the definition for it. */
export async function carvingWalk(registry: OperationRegistry, operation: OperationRow): Promise<Walk> {
  const walk = walkOf(operation)
  if (operation.walk === 'key') return walk
  const bound = await registry.find(operation.name).bind(operation.args)
  return walkOfKind(walk, operation.walk, meantBy(bound, operation.created_text))
}

/** How an operation goes through its table, as people see it. */
export interface WalkView {
  kind: WalkKind
  /** The index along which it goes; null: the one of its key. */
  index: string | null
  /** The columns of its cursor. */
  columns: readonly string[]
  says: string
}

/** Says how an operation goes through its table. */
export function viewOfWalk({ kind, index, columns }: Omit<WalkView, 'says'>): WalkView {
  const key = `along the key (${columns.join(', ')})`
  const says = {
    key,
    sparse: `along ${index}, which has the rows in scope alone`,
    found: `${key}, rows in scope alone, which ${index} finds`,
  }
  return { kind, index, columns, says: says[kind] }
}

/** What the governor knows an operation by. */
export function governed(
  { id, name, table_name: table }: Pick<OperationRow, 'id' | 'name' | 'table_name'>,
  { vacuum }: Pick<OperationDefinition, 'vacuum'>,
): Governed {
  return { id, name, table, vacuum }
}
