import type { StandardSchemaV1 } from '@standard-schema/spec'
import { SluiceError } from './errors.ts'
import { toJson, type Json } from './std/json.ts'

const maxBytes = 256 * 1024

/** The form in which args are stored. What cannot be stored, or not be given back unchanged, is refused. */
export function storeArgs(name: string, input: unknown): Json {
  if (input === undefined) return {}
  const json = toJson(input)
  if ('fault' in json) {
    throw new SluiceError('ARGS_INVALID', {
      message: `The args of "${name}" cannot be stored: ${json.fault.path}: ${json.fault.reason}.`,
      details: { name, issues: [json.fault] },
    })
  }
  const bytes = Buffer.byteLength(JSON.stringify(json.value))
  if (bytes > maxBytes) {
    throw new SluiceError('ARGS_INVALID', {
      message: `The args of "${name}" take ${bytes} bytes; the limit is ${maxBytes}. Store the data in a table and pass a reference.`,
      details: { name, bytes, maxBytes },
    })
  }
  return json.value
}

/**
 * Args as the handler gets them: the stored value through the definition's schema. A promise only where the schema
 * answers with one: to wait for nothing costs more than most checks.
 */
export function validateArgs(name: string, schema: StandardSchemaV1 | undefined, stored: Json): unknown {
  if (schema === undefined) {
    if (isEmpty(stored)) return undefined
    throw new SluiceError('ARGS_INVALID', {
      message: `"${name}" takes no args, but some were given. Remove them, or add an args schema to the definition.`,
      details: { name },
    })
  }
  const result = schema['~standard'].validate(stored)
  return result instanceof Promise ? result.then((settled) => accept(name, settled)) : accept(name, result)
}

/** The JSON Schema of args, where the library that made their schema can tell; null: it cannot. */
export function jsonSchemaOf(schema: StandardSchemaV1 | undefined): Json | null {
  const { jsonSchema } = (schema?.['~standard'] ?? {}) as { jsonSchema?: { input?: (options: object) => unknown } }
  try {
    const drawn = jsonSchema?.input?.({ target: 'draft-2020-12' })
    return drawn === undefined ? null : (JSON.parse(JSON.stringify(drawn)) as Json)
  } catch {
    // Some types, such as dates, have no JSON Schema; then the args are written by hand.
    return null
  }
}

function isEmpty(stored: Json): boolean {
  return typeof stored === 'object' && stored !== null && !Array.isArray(stored) && Object.keys(stored).length === 0
}

function accept(name: string, result: StandardSchemaV1.Result<unknown>): unknown {
  if (result.issues === undefined) return result.value
  const issues = result.issues.map(({ message, path }) => ({ path: formatPath(path), message }))
  throw new SluiceError('ARGS_INVALID', {
    message: `The args of "${name}" do not fit its schema: ${issues.map((i) => `${i.path}: ${i.message}`).join('; ')}. (Args are stored as JSON: a date arrives as text, so use a coercing schema for it.)`,
    details: { name, issues },
  })
}

function formatPath(path: StandardSchemaV1.Issue['path']): string {
  const keys = (path ?? []).map((step) => String(typeof step === 'object' ? step.key : step))
  return ['args', ...keys].join('.')
}
