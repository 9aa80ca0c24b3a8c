import type { Sql } from 'sql-template-tag'
import { SluiceError } from '../../errors.ts'
import type { Connection } from '../../store/connection.ts'
import { didYouMean } from '../../std/suggest.ts'
import { checkScope } from './change.ts'
import { resolveCursor } from './cursor.ts'
import type { Cursor } from '../walk.ts'
import { describeTable } from './table.ts'
import type { Column, TableShape } from '../target.ts'

/** The columns of a row in which its claim stands, and the words of its status before and during it. */
export interface Marks {
  status: Column
  nonce: Column
  claimedAt: Column | undefined
  worker: Column | undefined
  from: string
  to: string
}

/** The table whose rows count references, and how rows of the swept table refer to it. */
export interface Reference {
  table: string
  key: Column
  by: string
  count: string
}

/** A table whose rows are claimed one by one. */
export interface SweptTable {
  /** Qualified and quoted. */
  table: string
  key: Cursor
  due: Sql
  order: readonly string[]
  marks: Marks | undefined
  reference: Reference | undefined
}

/** What a definition says of its table, by names. */
export interface SweptNames {
  name: string
  table: string
  key: readonly string[]
  due: Sql
  order: readonly string[]
  marks:
    | {
        status: string
        nonce: string
        claimedAt: string | undefined
        worker: string | undefined
        from: string
        to: string
      }
    | undefined
  reference: { table: string; key: string; by: string; count: string } | undefined
  /** Columns that finalising sets. */
  sets: readonly string[]
}

/** Finds everything that a sweep names, or says what is missing, before any row is touched. */
export async function resolveSweptTable(connection: Connection, names: SweptNames): Promise<SweptTable> {
  const shape = await describeTable(connection, names.table)
  const key = resolveCursor(shape, names.key)
  for (const column of [...names.order, ...names.sets]) columnOf(names.name, shape, column)
  await checkScope(connection, shape.qualifiedName, names.due)
  return {
    table: shape.qualifiedName,
    key,
    due: names.due,
    order: names.order.length === 0 ? names.key : names.order,
    marks: names.marks === undefined ? undefined : marksOf(names.name, shape, names.marks),
    reference: names.reference === undefined ? undefined : await referenceOf(connection, names, shape),
  }
}

function marksOf(name: string, shape: TableShape, given: NonNullable<SweptNames['marks']>): Marks {
  const optional = (column: string | undefined): Column | undefined =>
    column === undefined ? undefined : columnOf(name, shape, column)
  return {
    ...given,
    status: columnOf(name, shape, given.status),
    nonce: columnOf(name, shape, given.nonce),
    claimedAt: optional(given.claimedAt),
    worker: optional(given.worker),
  }
}

async function referenceOf(
  connection: Connection,
  { name, reference }: SweptNames,
  shape: TableShape,
): Promise<Reference | undefined> {
  if (reference === undefined) return undefined
  const { table, key, by, count } = reference
  columnOf(name, shape, by)
  const other = await describeTable(connection, table)
  columnOf(name, other, count)
  const column = columnOf(name, other, key)
  if (!other.uniqueKeys.some((unique) => unique.length === 1 && unique[0] === key)) {
    throw misfit(name, `"${key}" of ${other.qualifiedName} is not unique, so it does not tell whose count to change`)
  }
  return { table: other.qualifiedName, key: column, by, count }
}

function columnOf(name: string, { qualifiedName, columns }: TableShape, column: string): Column {
  const found = columns.find((candidate) => candidate.name === column)
  if (found !== undefined) return found
  const hint = didYouMean(
    column,
    columns.map((candidate) => candidate.name),
  )
  throw misfit(name, `${qualifiedName} has no column "${column}".${hint}`)
}

/** The error that refuses a sweep whose definition and tables are not made for each other. */
export function misfit(name: string, problem: string, cause?: unknown): SluiceError {
  return new SluiceError('SWEEP_INVALID', {
    message:
      `The sweep "${name}" does not fit its tables: ${problem.replace(/[.]$/, '')}. Correct the definition, or the table.`.replace(
        '?.',
        '?',
      ),
    details: { name, problem },
    cause,
  })
}
