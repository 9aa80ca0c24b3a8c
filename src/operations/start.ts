import { createHash } from 'node:crypto'
import { SluiceError } from '../errors.ts'
import { onConnection, type Connection, type StoreConnection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import * as operations from '../store/operations.ts'
import type { Json } from '../std/json.ts'
import { uuidv7 } from '../std/uuid.ts'
import { checkScope } from '../targets/change.ts'
import { resolveCursor } from '../targets/cursor.ts'
import { describeTable } from '../targets/table.ts'
import { lastKey } from '../targets/window.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { storeArgs } from './args.ts'
import type { OperationDefinition } from './define.ts'

/** Choices for one start of an operation. */
export interface StartOptions {
  /** Record the operation in this transaction of yours: it exists when, and only when, that commits. */
  tx?: Connection
  /** The customer that the operation belongs to; none: a system operation. */
  tenant?: string
  /** Who started it, for the record. */
  actor?: string
}

/** What starting an operation gives. */
export interface StartedOperation {
  id: string
  /** An equal operation (name, args and tenant) was unfinished already; this is the id of that one. */
  duplicate: boolean
}

/** Checks everything that can be checked, then records the operation. Nothing is written before all checks passed. */
export async function startOperation(
  definition: OperationDefinition,
  request: { args: unknown; options: StartOptions },
  { database, telemetry }: { database: Database; telemetry: Telemetry },
): Promise<StartedOperation> {
  const { tx, tenant, actor } = request.options
  const connection = tx === undefined ? database.control : onConnection(tx, database.control.schema)
  const args = storeArgs(definition.name, request.args)
  const labels = storeArgs(definition.name, { tenant, actor }) as { tenant?: string; actor?: string }
  const owner = { tenant: labels.tenant ?? null, actor: labels.actor ?? null }
  const planned = await plan({ checks: database.control, reads: connection }, definition, args)
  const started = await record(connection, {
    id: uuidv7(),
    name: definition.name,
    args,
    ...owner,
    fingerprint: fingerprint(definition.name, args, owner.tenant),
    ...planned,
    lanes: definition.lanes,
    batchSize: definition.batchSize,
    subBatchSize: definition.subBatchSize,
  })
  const { table } = planned
  telemetry.emit('operation.started', {
    operationId: started.id,
    name: definition.name,
    table,
    tenant: owner.tenant,
    duplicate: started.duplicate,
  })
  return started
}

type Planned = Pick<operations.NewOperation, 'table' | 'cursorColumns' | 'cursorTypes' | 'carveEnd' | 'rowsEstimate'>

/** The checks have a connection of their own, because one that fails would end the user's transaction with it. */
async function plan(
  { checks, reads }: { checks: Connection; reads: Connection },
  definition: OperationDefinition,
  args: Json,
): Promise<Planned> {
  const bound = await definition.bind(args)
  const shape = await describeTable(checks, definition.table)
  const cursor = resolveCursor(shape, definition.cursor)
  const scope = bound.scope(new Date().toISOString())
  if (scope !== undefined) await checkScope(checks, shape.qualifiedName, scope)
  return {
    table: shape.qualifiedName,
    cursorColumns: cursor.columns,
    cursorTypes: cursor.types,
    carveEnd: await lastKey(reads, { table: shape.qualifiedName, cursor }),
    rowsEstimate: shape.rowsEstimate,
  }
}

async function record(connection: StoreConnection, operation: operations.NewOperation): Promise<StartedOperation> {
  // A competing start may have committed after our statement's snapshot: the next look sees it.
  for (let look = 1; look <= 5; look++) {
    const [found] = await operations.start(connection, operation)
    if (found !== undefined) return { id: found.id, duplicate: !found.created }
  }
  throw new SluiceError('ISOLATION_TOO_STRICT', {
    message: `Another transaction started an equal "${operation.name}" that this transaction cannot see. Start it from a READ COMMITTED transaction.`,
    details: { name: operation.name },
  })
}

/** Equal for equal name, args and tenant, whatever the order of the keys in args. */
function fingerprint(name: string, args: Json, tenant: string | null): string {
  return createHash('sha256')
    .update(JSON.stringify([name, args, tenant]))
    .digest('hex')
}
