import { storable } from './storable.ts'

/** Any value that JSON can hold and give back unchanged. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** Why a value cannot be stored, and where in it. */
export interface JsonFault {
  path: string
  reason: string
}

const maxDepth = 100

/**
 * The stored form of a value: plain JSON with sorted keys, so that equal values have equal text.
 * Dates become ISO text, as JSON does it; whatever would be lost or changed silently is a fault instead.
 */
export function toJson(value: unknown): { value: Json } | { fault: JsonFault } {
  const seen = new Set<object>()
  try {
    return { value: convert(value, 'args', seen) }
  } catch (error) {
    if (error instanceof Refused) return { fault: { path: storable(error.path, 200), reason: error.message } }
    // A getter or a proxy of the value itself threw.
    return { fault: { path: 'args', reason: `reading the value failed: ${storable(error, 200)}` } }
  }
}

class Refused extends Error {
  readonly path: string
  constructor(path: string, reason: string) {
    super(reason)
    this.path = path
  }
}

function convert(value: unknown, path: string, seen: Set<object>): Json {
  switch (typeof value) {
    case 'string':
      return checkText(value, path)
    case 'boolean':
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new Refused(path, `${value} is not a JSON number`)
      return value
    case 'object':
      return value === null ? null : convertObject(value, path, seen)
    case 'bigint':
      throw new Refused(path, 'a BigInt cannot be stored as JSON; pass it as text')
    case 'undefined':
    case 'function':
    case 'symbol':
      throw new Refused(path, `${typeof value} cannot be stored as JSON`)
  }
}

function convertObject(value: object, path: string, seen: Set<object>): Json {
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new Refused(path, 'an invalid Date cannot be stored')
    return value.toISOString()
  }
  if (seen.has(value)) throw new Refused(path, 'the value contains itself')
  if (seen.size >= maxDepth) throw new Refused(path, `nested deeper than ${maxDepth} levels`)
  seen.add(value)
  const json = Array.isArray(value)
    ? Array.from(value, (item, i) => convert(item, `${path}[${i}]`, seen))
    : convertRecord(value, path, seen)
  seen.delete(value)
  return json
}

function convertRecord(value: object, path: string, seen: Set<object>): Json {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) {
    throw new Refused(path, `a ${value.constructor?.name ?? 'class'} instance cannot be stored as JSON`)
  }
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  if (entries.some(([key]) => key === '__proto__')) throw new Refused(path, 'the key "__proto__" is not allowed')
  return Object.fromEntries(
    entries
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [checkText(key, path), convert(item, `${path}.${key}`, seen)]),
  )
}

function checkText(text: string, path: string): string {
  if (text.includes('\0')) throw new Refused(path, 'text with a NUL character cannot be stored by PostgreSQL')
  if (!text.isWellFormed()) throw new Refused(path, 'text with half a surrogate pair is not valid Unicode')
  return text
}
