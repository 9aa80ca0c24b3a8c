import { SluiceError } from '../errors.ts'
import type { StoreConnection } from './connection.ts'
import { isReadOnly, isUnreachable, readOnly, sqlstate, unreachable } from './sqlstate.ts'

/** One SQL statement on our tables, as a function. */
export type Statement<P, R> = (connection: StoreConnection, params: P) => Promise<R[]>

/**
 * Makes a function of one SQL text. The text is written against the default schema, so that it can be pasted into
 * psql; a custom schema is put in here and nowhere else.
 */
export function statement<P, R>(
  name: string,
  text: string,
  bind: (params: P) => unknown[],
  { prepare = false }: { prepare?: boolean } = {},
): Statement<P, R> {
  return async (connection, params) => {
    const inPlace = inSchema(text, connection.schema)
    if (prepare) prepared.set(inPlace, name)
    return runAs<R>(name, connection, { text: inPlace, values: bind(params) })
  }
}

/** Runs a statement that is put together where it is used. Its errors are explained like those of all others. */
export async function runAs<R>(
  name: string,
  connection: StoreConnection,
  { text, values }: { text: string; values: unknown[] },
): Promise<R[]> {
  try {
    const { rows } = await connection.query(text, values)
    return rows as R[]
  } catch (error) {
    throw explain(error, name, connection.schema)
  }
}

/** An array of numbers as the database reads it: the driver would look at each element for quotes. */
export function list(numbers: readonly (number | string)[]): string {
  return `{${numbers.join(',')}}`
}

/** Texts that are run so often that the server should keep them, each with the name that it knows them by. */
export const prepared = new Map<string, string>()

const rewritten = new Map<string, string>()

/** The text with our default schema name replaced by the configured one, where it stands as the name of a schema. */
export function inSchema(text: string, schema: string): string {
  if (schema === 'sluice') return text
  const key = `${schema}\n${text}`
  const known =
    rewritten.get(key) ?? text.replace(/\bsluice(?=\.\w|\.%|\.')|(?<=schema )sluice\b|(?<=')sluice(?=')/g, schema)
  rewritten.set(key, known)
  return known
}

/** Only a plain name may become part of SQL text. */
export function checkSchemaName(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,40}$/.test(schema) && !schema.startsWith('pg_')) return schema
  throw new SluiceError('CONFIG_INVALID', {
    message: `The configuration is wrong: "schema" must be a lower-case name of up to 41 letters, digits and "_", not beginning with a digit or "pg_".`,
    details: { option: 'schema' },
  })
}

function explain(error: unknown, name: string, schema: string): unknown {
  const code = sqlstate(error)
  if (isUnreachable(error)) return unreachable(error)
  if (isReadOnly(error) && !(error instanceof SluiceError)) return readOnly(error as Error)
  if (code === '3F000' || code === '42P01') {
    return new SluiceError('SCHEMA_MISSING', {
      message: `The tables of Sluice are not in schema "${schema}" of this database (${name}). Run "sluice migrate" first.`,
      details: { schema, statement: name },
      cause: error,
    })
  }
  if (code === '22P05') {
    return new SluiceError('TEXT_INVALID', {
      message: `The database cannot store a character of the given text (${name}): ${(error as Error).message}. Remove the character, or move to a database whose encoding is UTF8.`,
      details: { statement: name },
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
