import { SluiceError } from '../errors.ts'
import { didYouMean } from '../std/suggest.ts'

/** The definitions that this process knows, by name. Work of other names is left for processes that know it. */
export class Registry<Definition extends { readonly name: string }> {
  readonly #kind: 'operation' | 'job' | 'sweep'
  readonly #byName = new Map<string, Definition>()

  constructor(kind: 'operation' | 'job' | 'sweep', definitions: readonly Definition[]) {
    this.#kind = kind
    for (const definition of definitions) {
      if (this.#byName.has(definition.name)) {
        throw new SluiceError('DEFINITION_DUPLICATE', {
          message: `Two ${kind}s are named "${definition.name}". Give each definition a name of its own; it is how stored ${kind}s find their code.`,
          details: { name: definition.name },
        })
      }
      this.#byName.set(definition.name, definition)
    }
  }

  get names(): string[] {
    return [...this.#byName.keys()]
  }

  get definitions(): Definition[] {
    return [...this.#byName.values()]
  }

  has(name: string): boolean {
    return this.#byName.has(name)
  }

  find(name: string): Definition {
    const found = this.#byName.get(name)
    if (found !== undefined) return found
    throw new SluiceError('DEFINITION_UNKNOWN', {
      message: `No ${this.#kind} is named "${name}".${didYouMean(name, this.names)} List it under "${this.#kind}s" in the configuration.`,
      details: { name, known: this.names },
    })
  }
}
