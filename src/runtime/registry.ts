import { SluiceError } from '../errors.ts'
import { didYouMean } from '../std/suggest.ts'

/** What can be defined, in words; the configuration lists it under the plural. */
type Kind = 'operation' | 'job' | 'schedule' | 'machine' | 'reconciler' | 'inbox' | 'sweep'

/** The definitions that this process knows, by name. Work of other names is left for processes that know it. */
export class Registry<Definition extends { readonly name: string }> {
  readonly #kind: Kind
  readonly #byName = new Map<string, Definition>()

  constructor(kind: Kind, definitions: readonly Definition[]) {
    this.#kind = kind
    for (const definition of definitions) {
      if (this.#byName.has(definition.name)) {
        throw new SluiceError('DEFINITION_DUPLICATE', {
          message: `Two ${pluralOf(kind)} are named "${definition.name}". Give each definition a name of its own; it is how stored ${pluralOf(kind)} find their code.`,
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
      message: `No ${this.#kind} is named "${name}".${didYouMean(name, this.names)} List it under "${pluralOf(this.#kind)}" in the configuration.`,
      details: { name, known: this.names },
    })
  }
}

function pluralOf(kind: Kind): string {
  return kind === 'inbox' ? 'inboxes' : `${kind}s`
}
