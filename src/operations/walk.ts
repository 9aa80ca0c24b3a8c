import type { Sql } from 'sql-template-tag'
import type { Governed } from '../governor/course.ts'
import type { Carving, OperationRow } from '../store/operations.ts'
import type { Walk } from '../targets/walk.ts'
import type { OperationDefinition, OperationRegistry } from './definition.ts'

/** How an operation walks its table when every row is a step. */
export function walkOf(operation: Pick<OperationRow, 'table_name' | 'cursor_columns' | 'cursor_types'>): Walk {
  return {
    table: operation.table_name,
    cursor: { columns: operation.cursor_columns, types: operation.cursor_types },
  }
}

/** The walk as the operation carves: over all rows, or over those in scope alone. */
function walkBy(walk: Walk, { carve, scope }: { carve: Carving; scope: Sql | undefined }): Walk {
  return carve === 'sparse' && scope !== undefined ? { ...walk, only: scope } : walk
}

/** The walk by which the next batch of an operation is cut. Only a sparse one needs the definition for it. */
export async function carvingWalk(registry: OperationRegistry, operation: OperationRow): Promise<Walk> {
  const walk = walkOf(operation)
  if (operation.carve === 'dense') return walk
  const bound = await registry.find(operation.name).bind(operation.args)
  return walkBy(walk, { carve: operation.carve, scope: bound.scope(operation.created_text) })
}

/** What the governor knows an operation by. */
export function governed(
  { id, name, table_name: table }: Pick<OperationRow, 'id' | 'name' | 'table_name'>,
  { vacuum }: Pick<OperationDefinition, 'vacuum'>,
): Governed {
  return { id, name, table, vacuum }
}
