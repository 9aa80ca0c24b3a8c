import { SluiceError } from '../errors.ts'
import { didYouMean } from '../std/suggest.ts'
import type { OperationDefinition } from './define.ts'

/** The operations that this process knows, by name. Work of other names is left for processes that know it. */
export class Registry {
  readonly #byName = new Map<string, OperationDefinition>()

  constructor(definitions: readonly OperationDefinition[]) {
    for (const definition of definitions) {
      if (this.#byName.has(definition.name)) {
        throw new SluiceError('DEFINITION_DUPLICATE', {
          message: `Two operations are named "${definition.name}". Give each definition a name of its own; it is how stored operations find their code.`,
          details: { name: definition.name },
        })
      }
      this.#byName.set(definition.name, definition)
    }
  }

  get names(): string[] {
    return [...this.#byName.keys()]
  }

  find(name: string): OperationDefinition {
    const found = this.#byName.get(name)
    if (found !== undefined) return found
    throw new SluiceError('DEFINITION_UNKNOWN', {
      message: `No operation is named "${name}".${didYouMean(name, this.names)} List it under "operations" in the configuration.`,
      details: { name, known: this.names },
    })
  }
}
