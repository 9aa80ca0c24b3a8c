import sql, { join, raw, type Sql } from 'sql-template-tag'
import { SluiceError } from '../../errors.ts'
import type { Cursor } from '../walk.ts'
import type { Connection } from '../../store/connection.ts'
import { sqlstate } from '../../store/sqlstate.ts'
import { quote } from '../fragment.ts'
import { didYouMean } from '../../std/suggest.ts'
import type { Column, TableShape } from '../target.ts'

/**
 * Resolves the cursor of a table: the given columns, else the primary key. A walk by a key that is nullable or not
 * unique would skip rows: that is refused. One without an index would read the whole table for each step: that is refused
 * unless it is tolerated.
 */
export function resolveCursor(
  table: TableShape,
  given: readonly string[] | undefined,
  tolerate: (problem: SluiceError) => void = refuse,
): Cursor {
  const names = given ?? table.primaryKey
  if (names.length === 0) {
    throw new SluiceError('CURSOR_INVALID', {
      message: `${table.qualifiedName} has no primary key. Name the columns of a unique index as cursor.`,
      details: { table: table.qualifiedName },
    })
  }
  const columns = names.map((name) => column(table, name))
  const nullable = columns.find(({ notNull }) => !notNull)
  if (nullable !== undefined) {
    throw new SluiceError('CURSOR_NULLABLE', {
      message: `The cursor column "${nullable.name}" of ${table.qualifiedName} allows NULL, and rows with NULL would be skipped. Add NOT NULL, or use other columns.`,
      details: { table: table.qualifiedName, column: nullable.name },
    })
  }
  checkUnique(table, names)
  const slow = problemOfIndexes(table, names)
  if (slow !== undefined) tolerate(slow)
  return { columns: names, types: columns.map(({ type }) => type) }
}

function column(table: TableShape, name: string): Column {
  const found = table.columns.find((candidate) => candidate.name === name)
  if (found !== undefined) return found
  const known = table.columns.map((candidate) => candidate.name)
  throw new SluiceError('CURSOR_INVALID', {
    message: `The cursor column "${name}" is not a column of ${table.qualifiedName}.${didYouMean(name, known)}`,
    details: { table: table.qualifiedName, column: name },
  })
}

function refuse(problem: SluiceError): never {
  throw problem
}

function checkUnique(table: TableShape, names: readonly string[]): void {
  const cursor = names.join(', ')
  if (!table.uniqueKeys.some((key) => key.every((name) => names.includes(name)))) {
    const fix =
      table.primaryKey.length > 0 ? `Append the primary key (${table.primaryKey.join(', ')})` : 'Append a unique key'
    throw new SluiceError('CURSOR_NOT_UNIQUE', {
      message: `The cursor (${cursor}) of ${table.qualifiedName} is not unique, so rows with equal keys could be skipped. ${fix}.`,
      details: { table: table.qualifiedName, cursor: names },
    })
  }
}

function problemOfIndexes(table: TableShape, names: readonly string[]): SluiceError | undefined {
  if (table.indexes.some((index) => names.every((name, i) => index[i] === name))) return undefined
  return new SluiceError('CURSOR_NOT_INDEXED', {
    message: `No index of ${table.qualifiedName} starts with the cursor columns (${names.join(', ')}), so each step would read the whole table. Run: create index concurrently on ${table.qualifiedName} (${names.map(quote).join(', ')});`,
    details: { table: table.qualifiedName, cursor: names },
  })
}

/** Refuses types that an index can sort and nobody can compare. It does not touch the table, which may be locked. */
export async function checkOrder(connection: Connection, table: string, { columns, types }: Cursor): Promise<void> {
  const nothing = types.map((type) => `null::${type}`).join(', ')
  try {
    await connection.query(`select (${nothing}) > (${nothing})`, [])
  } catch (error) {
    if (sqlstate(error) !== '42883') throw error
    throw new SluiceError('CURSOR_INVALID', {
      message: `${table} cannot be walked by (${columns.join(', ')}): values of type ${types.join(', ')} have no order. Name other columns of a unique index as cursor.`,
      details: { table, cursor: columns },
      cause: error,
    })
  }
}

/** The cursor columns as a list, each with something behind it (such as ` desc`). */
export function columnList({ columns }: Cursor, suffix = ''): Sql {
  return raw(columns.map((name) => quote(name) + suffix).join(', '))
}

/**
 * The expression that gives the key of a row as an array of texts: the same texts in every session, whatever its time
 * zone and date style, as keys of different sessions are compared.
 */
export function keyText({ columns, types }: Cursor, of = ''): Sql {
  const parts = columns.map((name, i) => plainText(of + quote(name), types[i] ?? ''))
  return raw(`array[${parts.join(', ')}]`)
}

/** The parts of a key as one text. Colons inside of a part are marked: ('a:b', 'c') is not ('a', 'b:c'). */
export function joinKey(key: readonly string[]): string {
  return key.map((part) => part.replaceAll(/[\\:]/g, String.raw`\$&`)).join(':')
}

/**
 * The condition that the text of a row's key leads back to that row: some settings round what the text of a number
 * shows, and then it is the key of no row, or of another one.
 */
export function isFoundByText({ columns, types }: Cursor, of = ''): Sql {
  const parts = columns.map((name, i) => {
    const value = of + quote(name)
    return `(${plainText(value, types[i] ?? '')})::${types[i]} = ${value}`
  })
  return raw(`(${parts.join(' and ')})`)
}

/** An expression as text that does not depend on the session. */
function plainText(expression: string, type: string): string {
  if (type === 'timestamp with time zone') {
    // In UTC, and marked as such where it is a moment: "infinity" is none, and the era comes last.
    const text = `to_json(${expression} at time zone 'UTC') #>> '{}'`
    return `regexp_replace(${text}, '^([0-9].*[0-9])( BC)?$', '\\1+00:00\\2')`
  }
  return /^(date|timestamp)/.test(type) ? `to_json(${expression}) #>> '{}'` : `${expression}::text`
}

/** A key that a person gave, as the database writes it; refused when it does not fit the columns. */
export async function readKey(connection: Connection, cursor: Cursor, given: readonly unknown[]): Promise<string[]> {
  const texts = given.map((value) => (value instanceof Date ? value.toISOString() : String(value)))
  const wrong = (problem: string, cause?: unknown): SluiceError =>
    new SluiceError('CURSOR_INVALID', {
      message: `The key (${texts.join(', ')}) does not fit the cursor (${cursor.columns.join(', ')}): ${problem}.`,
      details: { key: texts, cursor: cursor.columns },
      cause,
    })
  if (texts.length !== cursor.columns.length) throw wrong(`it needs ${cursor.columns.length} values`)
  const columns = cursor.columns.map(
    (name, i) => sql`${texts[i]}::${raw(cursor.types[i] ?? 'text')} as ${raw(quote(name))}`,
  )
  const query = sql`select ${keyText(cursor)} as key from (select ${join(columns)}) given`
  try {
    const { rows } = await connection.query(query.text, query.values)
    return (rows[0] as { key: string[] }).key
  } catch (error) {
    if (sqlstate(error)?.startsWith('22') !== true) throw error
    throw wrong((error as Error).message, error)
  }
}
