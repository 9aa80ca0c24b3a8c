import { SluiceError } from '../errors.ts'
import { onTransaction, type Connection, type StoreConnection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import type { Target } from '../targets/target.ts'
import type { AuditSource } from '../store/audit.ts'
import { underOurForms } from '../store/settings.ts'
import * as operations from '../store/operations.ts'
import { uuidv7 } from '../std/uuid.ts'
import { findingsOn, fingerprint, plan } from './plan.ts'
import { forcedReason, throwRefusal } from './preflight/finding.ts'
import type { PlanFinding } from '../targets/findings.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { storeArgs } from '../args.ts'
import { defineWindow } from '../runtime/window.ts'
import type { OperationDefinition } from './definition.ts'
import { lanesFrom } from './lanes.ts'
import { batchRows, subBatchRows } from './size.ts'

/** Choices for one start of an operation. */
export interface StartOptions {
  /** Record the operation in this transaction of yours: it exists when, and only when, that commits. */
  tx?: Connection
  /** The customer that the operation belongs to; none: a system operation. */
  tenant?: string
  /** Who started it, for the record; from where, and why. */
  actor?: string
  source?: AuditSource
  reason?: string
  /** Begin behind this key (one value per cursor column), such as the last one that another run came to. */
  min?: readonly unknown[]
  /** End at this key, which is still included. */
  max?: readonly unknown[]
  /** The hours in which it may run, instead of those of the definition; null: at any time. */
  window?: string | null
  /** Start it although a check says that it would read far more than it should; that is kept in its history. */
  force?: boolean
}

/** What starting an operation gives. */
export interface StartedOperation {
  id: string
  /** An equal operation (name, args and tenant) was unfinished already; this is the id of that one. */
  duplicate: boolean
  /** What the checks before the start found, the gravest first. */
  findings: readonly PlanFinding[]
}

/** Sizes that the definition says, or the ones to begin with and at most. */
function sizesOf({ batchSize, subBatchSize }: OperationDefinition): operations.Sizes {
  return {
    batchSize: batchSize ?? batchRows.most,
    carveSize: batchSize === undefined ? batchRows.first : null,
    subBatchSize: subBatchSize ?? subBatchRows.most,
    tunedSize: subBatchSize === undefined ? subBatchRows.first : null,
  }
}

/** What starting an operation needs. */
export interface Starter {
  database: Database
  target: Target
  telemetry: Telemetry
}

/** The same, connected. */
export async function starterOf(deps: {
  database(): Promise<Database>
  target(): Promise<Target>
  telemetry: Telemetry
}): Promise<Starter> {
  return { database: await deps.database(), target: await deps.target(), telemetry: deps.telemetry }
}

/** Checks everything that can be checked, then records the operation. Nothing is written before all checks passed. */
export async function startOperation(
  definition: OperationDefinition,
  request: { args: unknown; options: StartOptions },
  { database, target, telemetry }: Starter,
): Promise<StartedOperation> {
  const { tx, tenant, actor, min, max, force } = request.options
  const connection = tx === undefined ? database.control : onTransaction(tx, database.control.schema)
  const { window = definition.window?.text ?? null } = request.options
  const args = storeArgs(definition.name, request.args)
  const labels = storeArgs(definition.name, { tenant, actor }) as { tenant?: string; actor?: string }
  const owner = { tenant: labels.tenant ?? null, actor: labels.actor ?? null }
  const mark = fingerprint(definition.name, args, owner.tenant)
  const bounds = { min, max, mark }
  const planner = { target, control: database.control, reads: connection }
  const prepare = (): ReturnType<typeof plan> => plan(planner, definition, { args, bounds })
  // Keys are read as text, and the session of a caller may write them in another form.
  const prepared = await (tx === undefined ? prepare() : underOurForms(tx, prepare))
  const { planned } = prepared
  const findings = findingsOn(prepared, definition.changes)
  if (force !== true) throwRefusal(definition.name, findings)
  const reason = forcedReason(findings)
  const operation: operations.NewOperation = {
    id: uuidv7(),
    name: definition.name,
    args,
    ...owner,
    approval: definition.approval,
    fingerprint: mark,
    ...planned,
    // A last key that is given is the end, whatever comes behind it.
    until: max === undefined ? definition.until : 'end',
    verify: definition.verify,
    priority: definition.priority,
    conflicts: definition.conflicts,
    ...lanesFrom(definition.lanes),
    ...sizesOf(definition),
    quarantineLimit: definition.quarantineLimit,
    window: window === null ? null : defineWindow(window).text,
    reason,
  }
  const started = await record(connection, operation, request.options)
  const { table } = planned
  telemetry.emit('operation.started', {
    operationId: started.id,
    name: definition.name,
    table,
    tenant: owner.tenant,
    duplicate: started.duplicate,
    forced: started.duplicate ? null : reason,
  })
  return { ...started, findings }
}

async function record(
  connection: StoreConnection,
  operation: operations.NewOperation,
  { source, reason }: StartOptions,
): Promise<Omit<StartedOperation, 'findings'>> {
  const who = { ...(source && { source }), ...(reason && { reason }) }
  // A competing start may have committed after our statement's snapshot: the next look sees it.
  for (let look = 1; look <= 5; look++) {
    const [found] = await operations.start(connection, { operation, who })
    if (found !== undefined) return { id: found.id, duplicate: !found.created }
  }
  throw new SluiceError('ISOLATION_TOO_STRICT', {
    message: `Another transaction started an equal "${operation.name}" that this transaction cannot see. Start it from a READ COMMITTED transaction.`,
    details: { name: operation.name },
  })
}
