import { SluiceError } from '../errors.ts'
import type { StoreConnection } from './connection.ts'
import { isUnreachable, sqlstate, unreachable } from './sqlstate.ts'

/** One SQL statement on our tables, as a function. */
export type Statement<P, R> = (connection: StoreConnection, params: P) => Promise<R[]>

/**
 * Makes a function of one SQL text. The text is written against the default schema, so that it can be pasted into
 * psql; a custom schema is put in here and nowhere else.
 */
export function statement<P, R>(name: string, text: string, bind: (params: P) => unknown[]): Statement<P, R> {
  return async (connection, params) => {
    try {
      const { rows } = await connection.query(inSchema(text, connection.schema), bind(params))
      return rows as R[]
    } catch (error) {
      throw explain(error, name, connection.schema)
    }
  }
}

const rewritten = new Map<string, string>()

/** The text with our default schema name replaced by the configured one. */
export function inSchema(text: string, schema: string): string {
  if (schema === 'sluice') return text
  const key = `${schema}\n${text}`
  const known = rewritten.get(key) ?? text.replace(/\bsluice\b(?=[."\s;'])/g, schema)
  rewritten.set(key, known)
  return known
}

function explain(error: unknown, name: string, schema: string): unknown {
  const code = sqlstate(error)
  if (isUnreachable(error)) return unreachable(error)
  if (code === '3F000' || code === '42P01') {
    return new SluiceError('SCHEMA_MISSING', {
      message: `The tables of Sluice are not in schema "${schema}" of this database (${name}). Run "sluice migrate" first.`,
      details: { schema, statement: name },
      cause: error,
    })
  }
  if (code === '42501') {
    return new SluiceError('PERMISSION_DENIED', {
      message: `The database role may not run ${name}: ${(error as Error).message}. "sluice grants" prints the SQL that gives a role what it needs.`,
      details: { schema, statement: name },
      cause: error,
    })
  }
  return error
}
