/**
 * What a route answers, in the words of JSON Schema and, for the compiler, as a type: a description that does not fit
 * what handlers give does not compile.
 */
export interface Schema<T> {
  readonly json: object
  /** A field that may be missing. */
  readonly optional?: true
  /** Never there. */
  readonly type?: T
}

/** A field that may be missing, and what it has otherwise. */
export interface Maybe<T> {
  maybe: T
}

/** A value as it arrives, with fields that may be missing marked as such. */
export type Arrived<T> = T extends Date | bigint
  ? string
  : T extends readonly (infer Item)[]
    ? Arrived<Item>[]
    : T extends object
      ? { [K in keyof T]-?: undefined extends T[K] ? Maybe<Arrived<Exclude<T[K], undefined>>> : Arrived<T[K]> }
      : T

type Fields = Readonly<Record<string, Schema<unknown>>>
type Values<F extends Fields> = { [K in keyof F]: F[K] extends Schema<infer T> ? T : never }

export const text: Schema<string> = { json: { type: 'string' } }
export const moment: Schema<string> = { json: { type: 'string', format: 'date-time' } }
export const number: Schema<number> = { json: { type: 'number' } }
export const whole: Schema<number> = { json: { type: 'integer' } }
export const yes: Schema<boolean> = { json: { type: 'boolean' } }
/** Whatever JSON can hold. */
export const anything: Schema<never> = { json: {} }

/** One of some words. */
export function word<const Words extends readonly string[]>(...words: Words): Schema<Words[number]> {
  return { json: { type: 'string', enum: words } }
}

export function list<T>({ json }: Schema<T>): Schema<T[]> {
  return { json: { type: 'array', items: json } }
}

export function either<A, B>(one: Schema<A>, other: Schema<B>): Schema<A | B> {
  return { json: { anyOf: [one.json, other.json] } }
}

/** It, or nothing. */
export const nullable = <T>(schema: Schema<T>): Schema<T | null> => either(schema, { json: { type: 'null' } })

export function optional<T>({ json }: Schema<T>): Schema<Maybe<T>> {
  return { json, optional: true }
}

export function object<F extends Fields>(fields: F): Schema<Values<F>> {
  const names = Object.keys(fields)
  const properties = Object.fromEntries(names.map((name) => [name, fields[name]?.json]))
  const required = names.filter((name) => fields[name]?.optional !== true)
  return { json: { type: 'object', properties, required } }
}
