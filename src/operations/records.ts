import { jsonSchemaOf } from '../args.ts'
import { SluiceError } from '../errors.ts'
import type { Json } from '../std/json.ts'
import type { Database } from '../store/database.ts'
import type { Target } from '../targets/target.ts'
import { place, stretches, transitionsOf, type Stretch, type Transition } from '../store/operation-records.ts'
import { find } from '../store/operations.ts'
import type { OperationRegistry } from './definition.ts'
import { planOperation, type OperationPlan } from './preflight/preview.ts'

/** An operation that can be started by its name, for those who draw a form for it. */
export interface StartableOperation {
  name: string
  table: string
  /** Each run waits until a person approves it. */
  approval: boolean
  /** The JSON Schema of its args, where the library of its schema can tell; null: it takes none, or cannot tell. */
  args: Json | null
  takesArgs: boolean
}

/** So many cells are enough for any screen. */
const mostCells = 2_000

interface Deps {
  database(): Promise<Database>
  target(): Promise<Target>
  registry: OperationRegistry
}

/** What is on record of operations: changes of state, stretches of the walk, and what can be started. */
export class OperationRecords {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** The changes of state of an operation, latest first, with who and why. */
  async transitions(id: string): Promise<Transition[]> {
    return transitionsOf((await this.#deps.database()).control, { id, limit: 200 })
  }

  /** The batches of an operation in the order of their keys, folded into at most so many stretches. */
  async stretches(id: string, { cells = mostCells }: { cells?: number } = {}): Promise<Stretch[]> {
    const bounded = Math.min(mostCells, Math.max(1, Math.floor(cells)))
    return stretches((await this.#deps.database()).control, { id, cells: bounded })
  }

  /**
   * What a start with the args, tenant and bounds of this operation would say now: the checks of its start are not kept.
   * Nothing is run, not even a dry run.
   */
  async plan(id: string): Promise<OperationPlan> {
    const [database, target] = await Promise.all([this.#deps.database(), this.#deps.target()])
    const [view] = await find(database.control, { id })
    if (view === undefined) {
      throw new SluiceError('OPERATION_NOT_FOUND', {
        message: `There is no operation with id "${id}". "sluice ops list" shows the ids.`,
        details: { id },
      })
    }
    const { name, args, tenant, lower_key, carve_end } = view
    const bounds = { min: lower_key ?? undefined, max: carve_end ?? undefined }
    return planOperation(this.#deps.registry.find(name), { args, bounds, tenant, dryRun: false }, { database, target })
  }

  /** The names of the database and of the schema that hold all this. */
  async place(): Promise<{ database: string; schema: string }> {
    const { control } = await this.#deps.database()
    const [found] = await place(control)
    return { database: found?.database ?? '', schema: control.schema }
  }

  /** The operations that this process can start. */
  startable(): StartableOperation[] {
    return this.#deps.registry.definitions.map(({ name, table, approval, schema }) => ({
      name,
      table,
      approval,
      args: jsonSchemaOf(schema),
      takesArgs: schema !== undefined,
    }))
  }
}
