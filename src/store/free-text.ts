/**
 * Words for people that a statement stores: an error, or the reason of something that happened. A database whose
 * encoding does not have all of their characters refuses the whole statement, and with it what happened: a job could
 * not even fail. So they lose these characters instead. {@link Pool} knows the encoding and writes them.
 */
export class FreeText {
  readonly #write: (plain: (text: string) => string) => string

  constructor(write: (plain: (text: string) => string) => string) {
    this.#write = write
  }

  /** The text as a database of this encoding can store it. */
  in(encoding: string): string {
    return this.#write(encoding === 'UTF8' ? (text) => text : (text) => text.replaceAll(unknownIn(encoding), '?'))
  }

  /** For connections that are not ours, in this word of `pg`. */
  toPostgres(): string {
    return this.in('UTF8')
  }
}

/** Characters that a database may not have. Which ones others than LATIN1 have beside those of ASCII is not known here. */
function unknownIn(encoding: string): RegExp {
  return encoding === 'LATIN1' ? /[^\t\n\r\x20-\x7e\xa0-\xff]/gu : /[^\t\n\r\x20-\x7e]/gu
}

export function freeText<T extends string | null>(text: T): FreeText | Extract<T, null> {
  return (text === null ? null : new FreeText((plain) => plain(text))) as FreeText | Extract<T, null>
}

/** A value as JSON all of whose texts are words for people. */
export function freeJson(value: unknown): FreeText {
  return new FreeText((plain) => plain(JSON.stringify(value)))
}

/** The values of a statement, as a database of this encoding can store them. */
export function valuesIn(encoding: string, values: readonly unknown[]): unknown[] {
  return values.map((value) => (value instanceof FreeText ? value.in(encoding) : value))
}
