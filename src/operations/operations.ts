import { SluiceError } from '../errors.ts'
import { sleep } from '../std/sleep.ts'
import type { Database } from '../store/database.ts'
import { find } from '../store/operations.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { OperationDefinition } from './define.ts'
import type { Registry } from './registry.ts'
import { startOperation, type StartedOperation, type StartOptions } from './start.ts'
import { finalStates } from './states.ts'
import { statusOf, type OperationStatus } from './status.ts'

interface Deps {
  database(): Promise<Database>
  registry: Registry
  telemetry: Telemetry
}

/** What follows a definition in a call to `start`: its args, where it takes any, and options. */
export type StartParameters<Input> = undefined extends Input
  ? [args?: Input, options?: StartOptions]
  : [args: Input, options?: StartOptions]

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The verbs for operations. */
export class Operations {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /**
   * Starts an operation, after checking its args, table, cursor and scope; nothing is written when a check fails.
   * When an equal one (name, args, tenant) is unfinished, gives that one, marked as `duplicate`.
   *
   * @example
   * ```ts
   * const { id } = await sluice.operations.start(deleteDoneTodos, { userId: 7, deleteUntil: new Date() })
   * ```
   */
  async start<Input>(
    definition: OperationDefinition<Input>,
    ...[args, options = {}]: StartParameters<NoInfer<Input>>
  ): Promise<StartedOperation> {
    const { telemetry } = this.#deps
    return startOperation(definition, { args, options }, { database: await this.#deps.database(), telemetry })
  }

  /** Starts an operation by its name, for callers that have no code in hand. */
  async startByName(name: string, args?: unknown, options: StartOptions = {}): Promise<StartedOperation> {
    const { registry, telemetry } = this.#deps
    const definition = registry.find(name)
    return startOperation(definition, { args, options }, { database: await this.#deps.database(), telemetry })
  }

  /** Where an operation stands, also after its end. */
  async get(id: string): Promise<OperationStatus> {
    const { control } = await this.#deps.database()
    const [view] = uuid.test(id) ? await find(control, { id }) : []
    if (view !== undefined) return statusOf(view)
    throw new SluiceError('OPERATION_NOT_FOUND', {
      message: `There is no operation with id "${id.slice(0, 100)}"; history may have been dropped. Check the id.`,
      details: { id },
    })
  }

  /** Waits until an operation has ended, well or not, and gives its last status. Aborting the signal ends the wait. */
  async wait(
    id: string,
    { signal, everyMs = 500 }: { signal?: AbortSignal; everyMs?: number } = {},
  ): Promise<OperationStatus> {
    for (;;) {
      const status = await this.get(id)
      if (finalStates.includes(status.state) || signal?.aborted === true) return status
      await sleep(everyMs, signal)
    }
  }
}
