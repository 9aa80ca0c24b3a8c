import { SluiceError } from '../errors.ts'
import { errorRecord } from '../std/error-record.ts'
import type { Database } from '../store/database.ts'
import type { OperationRow } from '../store/operations.ts'
import { askApproval, refuse } from '../store/picking.ts'
import { classify } from '../store/sqlstate.ts'
import type { Target } from '../targets/target.ts'
import type { Walk } from '../targets/walk.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { OperationDefinition } from './definition.ts'
import { walkOf } from './walk.ts'

interface Deps {
  database: Database
  target: Pick<Target, 'describe'>
  telemetry: Telemetry
}

const unapproved = 'its definition asks for an approval, and it came without one'

/**
 * Whether an operation is what its definition in this process says: its table, its cursor and its approval. Whoever may
 * start operations has fewer rights than the worker that runs them, so the worker goes by its own definition.
 */
export class Belonging {
  readonly #deps: Deps
  /** The walks of definitions, as this database resolves them. */
  readonly #walks = new Map<string, Walk>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** True when it may run. Else it waits for an approval from now on, or has failed. */
  async settle(operation: OperationRow, definition: OperationDefinition): Promise<boolean> {
    try {
      await this.#check(operation, definition)
    } catch (error) {
      if (classify(error) !== 'fatal') throw error
      await this.#refuse(operation, error)
      return false
    }
    if (operation.status !== 'queued' || operation.approved || !definition.approval) return true
    await this.#ask(operation)
    return false
  }

  async #check(operation: OperationRow, definition: OperationDefinition): Promise<void> {
    const given = walkOf(operation)
    if (isSame(given, this.#walks.get(definition.name))) return
    const own = await resolve(this.#deps.target, definition, given)
    this.#walks.set(definition.name, own)
    if (!isSame(given, own)) throw mismatch(definition.name, given, own)
  }

  async #refuse(operation: OperationRow, thrown: unknown): Promise<void> {
    const error = errorRecord(thrown)
    const { database, telemetry } = this.#deps
    const [refused] = await refuse(database.control, { operation, error })
    const { id, name } = operation
    if (refused !== undefined) telemetry.emit('operation.failed', { operationId: id, name, error })
  }

  async #ask({ id, name }: OperationRow): Promise<void> {
    const { database, telemetry } = this.#deps
    const [asked] = await askApproval(database.control, { id, reason: unapproved })
    if (asked === undefined) return
    const message = `Operation ${id} ("${name}") waits for approval: ${unapproved}. Run "sluice ops approve ${id}" to let it run.`
    telemetry.emit('warning', { message })
  }
}

/** Whether keys are unique and indexed was for the start to say; a primary key may be gone since then. */
async function resolve(target: Deps['target'], definition: OperationDefinition, given: Walk): Promise<Walk> {
  const { qualifiedName, primaryKey, columns: known } = await target.describe(definition.table)
  const columns = definition.cursor ?? (primaryKey.length > 0 ? primaryKey : given.cursor.columns)
  const types = columns.map((name) => known.find((column) => column.name === name)?.type ?? 'missing')
  return { table: qualifiedName, cursor: { columns, types } }
}

function isSame(a: Walk, b: Walk | undefined): boolean {
  return (
    JSON.stringify([a.table, a.cursor.columns, a.cursor.types]) ===
    JSON.stringify(b && [b.table, b.cursor.columns, b.cursor.types])
  )
}

function mismatch(name: string, given: Walk, own: Walk): SluiceError {
  return new SluiceError('OPERATION_MISMATCH', {
    message: `The operation was started for ${described(given)}, but the definition of "${name}" in this worker says ${described(own)}. Start it again; if both are meant to be the same table, write its schema into the definition.`,
    details: { name, started: described(given), defined: described(own) },
  })
}

function described({ table, cursor: { columns, types } }: Walk): string {
  return `${table} by (${columns.map((column, i) => `${column} ${types[i] ?? ''}`).join(', ')})`
}
