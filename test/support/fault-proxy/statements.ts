import type { Frame } from './frames.ts'
import { closed, firstString, firstTwoStrings } from './messages.ts'

/** Remembers what a client has parsed and bound, so that an Execute can be known by its statement's text. */
export class StatementBook {
  readonly #statements = new Map<string, string>()
  readonly #portals = new Map<string, string>()

  /** Takes note of Parse, Bind and Close. */
  note({ type, bytes }: Frame): void {
    if (type === 'P') this.#statements.set(...firstTwoStrings(bytes))
    else if (type === 'B') this.#bind(...firstTwoStrings(bytes))
    else if (type === 'C') this.#close(closed(bytes))
  }

  /** The text which a Query or Execute message runs. */
  textRunBy({ type, bytes }: Frame): string {
    const text = firstString(bytes)
    return type === 'Q' ? text : (this.#portals.get(text) ?? '')
  }

  #bind(portal: string, statement: string): void {
    this.#portals.set(portal, this.#statements.get(statement) ?? '')
  }

  #close({ kind, name }: { kind: string; name: string }): void {
    if (kind === 'S') this.#statements.delete(name)
    else this.#portals.delete(name)
  }
}
