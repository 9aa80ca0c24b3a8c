import { createHash } from 'node:crypto'
import type { Sql } from 'sql-template-tag'
import type { Connection, StoreConnection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import * as operations from '../store/operations.ts'
import type { Pool } from '../store/pool.ts'
import type { Json } from '../std/json.ts'
import { checkScope } from '../targets/change.ts'
import { readKey, resolveCursor, type Cursor } from '../targets/cursor.ts'
import { describeTable } from '../targets/table.ts'
import { checkWalk } from '../targets/sparse.ts'
import { countRows, keyAt, lastKey } from '../targets/window.ts'
import { walkBy } from './walk.ts'
import { storeArgs } from '../args.ts'
import type { OperationDefinition } from './define.ts'
import { batchRows, subBatchRows } from './size.ts'

/** What the checks found out for the operation to be recorded. */
export type Planned = Pick<
  operations.NewOperation,
  'table' | 'cursorColumns' | 'cursorTypes' | 'lowerKey' | 'carveEnd' | 'rowsEstimate'
>

export interface Bounds {
  min: readonly unknown[] | undefined
  max: readonly unknown[] | undefined
  /** Under which finished runs of a recurring operation leave their last key. */
  mark: string
}

/**
 * Does all the checks and writes nothing. The checks have a connection of their own, because one that fails would end
 * the user's transaction with it.
 */
export async function plan(
  { checks, reads }: { checks: Pool; reads: Connection },
  definition: OperationDefinition,
  { args, bounds }: { args: Json; bounds: Bounds },
): Promise<Planned> {
  const bound = await definition.bind(args)
  const shape = await describeTable(checks, definition.table)
  const cursor = resolveCursor(shape, definition.cursor)
  const scope = bound.scope(new Date().toISOString())
  if (scope !== undefined) await checkScope(checks, shape.qualifiedName, scope)
  const walk = walkBy({ table: shape.qualifiedName, cursor }, { carve: definition.carve, scope })
  if (walk.only !== undefined) await checks.transaction((transaction) => checkWalk(transaction, walk))
  const max = bounds.max === undefined ? undefined : await readKey(checks, cursor, bounds.max)
  return {
    table: shape.qualifiedName,
    cursorColumns: cursor.columns,
    cursorTypes: cursor.types,
    lowerKey: await lowerKey(checks, { definition, cursor, bounds }),
    carveEnd: max ?? (await lastKey(reads, walk)),
    rowsEstimate: Math.round(shape.rowsEstimate),
  }
}

async function lowerKey(
  connection: StoreConnection,
  { definition, cursor, bounds }: { definition: OperationDefinition; cursor: Cursor; bounds: Bounds },
): Promise<operations.Key | null> {
  if (bounds.min !== undefined) return readKey(connection, cursor, bounds.min)
  if (definition.recur === 'restart') return null
  const [last] = await operations.lastMark(connection, { fingerprint: bounds.mark })
  return last?.key ?? null
}

/** Equal for equal name, args and tenant, whatever the order of the keys in args. */
export function fingerprint(name: string, args: Json, tenant: string | null): string {
  return createHash('sha256')
    .update(JSON.stringify([name, args, tenant]))
    .digest('hex')
}

/** What a start would do. */
export interface OperationPlan {
  name: string
  table: string
  cursor: readonly string[]
  /** Keys between which the walk goes; the first one is not included. */
  from: operations.Key | null
  to: operations.Key | null
  rowsEstimate: number
  batches: number
  scope: string | null
  /** Rows of the first window, and how many of them are in scope: a taste of what is to come. */
  sample: { rows: number; matched: number }
}

/** Does all that a start does, but for recording the operation. */
export async function planOperation(
  definition: OperationDefinition,
  request: { args: unknown; bounds: Omit<Bounds, 'mark'>; tenant: string | null },
  { control, work }: Pick<Database, 'control' | 'work'>,
): Promise<OperationPlan> {
  const args = storeArgs(definition.name, request.args)
  const bounds = { ...request.bounds, mark: fingerprint(definition.name, args, request.tenant) }
  const planned = await plan({ checks: control, reads: control }, definition, { args, bounds })
  const scope = (await definition.bind(args)).scope(new Date().toISOString())
  return {
    name: definition.name,
    table: planned.table,
    cursor: planned.cursorColumns,
    from: planned.lowerKey,
    to: planned.carveEnd,
    rowsEstimate: planned.rowsEstimate,
    batches: Math.ceil(planned.rowsEstimate / (definition.batchSize ?? batchRows.first)),
    scope: scope?.text ?? null,
    sample: await taste(work, planned, {
      scope,
      carve: definition.carve,
      count: definition.subBatchSize ?? subBatchRows.first,
    }),
  }
}

async function taste(
  connection: Connection,
  { table, cursorColumns: columns, cursorTypes: types, lowerKey: lower, carveEnd: end }: Planned,
  { scope, carve, count }: { scope: Sql | undefined; carve: operations.Carving; count: number },
): Promise<OperationPlan['sample']> {
  if (end === null) return { rows: 0, matched: 0 }
  const walk = walkBy({ table, cursor: { columns, types } }, { carve, scope })
  const upper = (await keyAt(connection, { walk, window: { lower, upper: end }, count })) ?? end
  const rows = await countRows(connection, walk, { lower, upper })
  return { rows, matched: await countRows(connection, walk, { lower, upper }, scope) }
}
