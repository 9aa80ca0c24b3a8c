/** A field of a request, in the words of JSON Schema: what is checked is what the OpenAPI document says. */
export type Field = { readonly required?: true; readonly description?: string } & (
  | {
      readonly type: 'string'
      readonly maxLength: number
      readonly pattern?: string
      readonly enum?: readonly string[]
    }
  | { readonly type: 'integer' | 'number'; readonly minimum: number; readonly maximum: number }
  | { readonly type: 'boolean' }
  | { readonly type: 'array'; readonly maxItems: number; readonly items: Field }
  /** Any JSON. */
  | { readonly type: 'json' }
)

export type Fields = Readonly<Record<string, Field>>

type ValueOf<F> = F extends { enum: readonly (infer Word)[] }
  ? Word
  : F extends { type: 'string' }
    ? string
    : F extends { type: 'integer' | 'number' }
      ? number
      : F extends { type: 'boolean' }
        ? boolean
        : F extends { type: 'array'; items: infer Item }
          ? ValueOf<Item>[]
          : unknown

type Demanded<F> = { [K in keyof F]: F[K] extends { required: true } ? K : never }[keyof F]

/** The checked values of some fields. */
export type InputOf<F> = { -readonly [K in Demanded<F>]: ValueOf<F[K]> } & {
  -readonly [K in Exclude<keyof F, Demanded<F>>]?: ValueOf<F[K]>
}

/** A request that does not fit the contract. */
export class Misfit extends Error {
  override readonly name = 'Misfit'
}

/** Checks values against fields. What is not in the contract is refused, not ignored. */
export function check(fields: Fields, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const checked: Record<string, unknown> = {}
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(fields, name)) throw new Misfit(`"${name.slice(0, 50)}" is not a field of this request`)
  }
  for (const [name, field] of Object.entries(fields)) {
    const value = given[name]
    if (value === undefined) {
      if (field.required === true) throw new Misfit(`"${name}" is missing`)
    } else {
      const problem = problemOf(field, value)
      if (problem !== undefined) throw new Misfit(`"${name}" ${problem}`)
      checked[name] = value
    }
  }
  return checked
}

/** What a query string says, as values of the types that the fields have. */
export function fromQuery(fields: Fields, query: URLSearchParams): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const name of new Set(query.keys())) {
    const texts = query.getAll(name)
    const [text = ''] = texts
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (texts.length > 1) throw new Misfit(`"${name.slice(0, 50)}" is there twice`)
    // An empty field of a form is no field.
    if (text !== '' || field === undefined) values[name] = field === undefined ? text : parsed(field, text)
  }
  return values
}

function parsed(field: Field, text: string): unknown {
  switch (field.type) {
    case 'integer':
    case 'number':
      return /^-?\d{1,16}(\.\d{1,6})?$/.test(text) ? Number(text) : text
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text
    case 'array':
      return text.split(',')
    case 'string':
    case 'json':
      return text
  }
}

function problemOf(field: Field, value: unknown): string | undefined {
  switch (field.type) {
    case 'string':
      if (typeof value !== 'string') return 'must be a text'
      if (field.enum !== undefined) return field.enum.includes(value) ? undefined : `must be ${field.enum.join(', ')}`
      if (value.length > field.maxLength) return `must have at most ${field.maxLength} characters`
      if (value.includes('\0')) return 'must not have a null character'
      return field.pattern === undefined || new RegExp(field.pattern).test(value) ? undefined : 'has the wrong form'
    case 'integer':
    case 'number': {
      const fits = typeof value === 'number' && value >= field.minimum && value <= field.maximum
      if (!fits || (field.type === 'integer' && !Number.isSafeInteger(value)))
        return `must be a ${field.type === 'integer' ? 'whole ' : ''}number from ${field.minimum} to ${field.maximum}`
      return undefined
    }
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be true or false'
    case 'array': {
      if (!Array.isArray(value) || value.length > field.maxItems)
        return `must be a list of at most ${field.maxItems} values`
      return value.map((item) => problemOf(field.items, item)).find((problem) => problem !== undefined)
    }
    case 'json':
      return undefined
  }
}
