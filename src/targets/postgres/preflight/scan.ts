import { type Access, isFoundBy } from '../explain.ts'
import type { PlanFinding } from '../../findings.ts'

/** So many rows are read in a few milliseconds, however they are found. */
const harmlessRows = 10_000
/** So many times the rows of the window may be read. */
const tolerated = 10

/** How a plan finds the rows of a window of the walked table. */
export interface Found {
  /** By the leading column of the cursor, wherever the walked table is read. */
  byCursor: boolean
  /** Of the ways that are not. */
  strays: readonly Access[]
  /** The ways in which other tables are read whole. */
  others: readonly Access[]
}

/** Sorts the ways in which a plan reads tables; without a leading column, every index of the walked one is right. */
export function sortAccesses(
  accesses: readonly Access[],
  relations: readonly { schema: string; name: string }[],
  leading?: string,
): Found {
  const isOwn = ({ schema, relation }: Access): boolean =>
    relations.some((own) => own.schema === schema && own.name === relation)
  const isRight = (access: Access): boolean =>
    leading === undefined ? access.how !== 'scan' : isFoundBy(access, leading)
  const strays = accesses.filter((access) => isOwn(access) && !isRight(access))
  const others = accesses.filter((access) => !isOwn(access) && access.how === 'scan')
  return { byCursor: strays.length === 0, strays, others }
}

/** Whether so many rows are too many to be read for a window. */
export function readsTooMuch(rowsRead: number, rowsInWindow: number): boolean {
  return rowsRead > harmlessRows && rowsRead > tolerated * rowsInWindow
}

/** What the judge of a plan has to know. */
export interface Judged {
  statement: 'carve' | 'work'
  table: string
  cursor: readonly string[]
  /** Rows that are read for one window, and that are in it. */
  rowsRead: number
  rowsInWindow: number
  /** Rows that the planner expects in it. */
  rowsExpected: number
  /** With nothing but indexes to choose from, the server finds the rows by the cursor. */
  provable: boolean
  analyzed: boolean
}

/** What is wrong with a plan that does not find rows by the cursor; undefined: it is harmless. */
export function judgeScan(judged: Judged): PlanFinding | undefined {
  const { table, cursor, provable, analyzed, rowsRead, rowsInWindow } = judged
  const columns = cursor.join(', ')
  // Where a table has hardly any rows left, one index is as good as another; the carve shows that there is the right one.
  const harmless = judged.statement === 'work' && !readsTooMuch(rowsRead, rowsInWindow)
  if (!provable && !harmless) {
    return {
      check: 'scan',
      severity: 'refuse',
      code: 'PLAN_SCANS',
      what: `No index of ${table} serves the cursor (${columns})`,
      why: `Each step would read the whole table, about ${rowsRead.toLocaleString('en-US')} rows`,
      remedy: `Run: create index concurrently on ${table} (${cursor.map((name) => `"${name.replaceAll('"', '""')}"`).join(', ')});`,
    }
  }
  // A planner that knows how few rows are wanted, and reads the table all the same, has found that to be cheaper. A
  // carve has a limit of its own, and cuts smaller batches until it keeps to it.
  const misled = judged.statement === 'work' && judged.rowsExpected > tolerated * rowsInWindow
  if (!misled || !readsTooMuch(rowsRead, rowsInWindow)) return undefined
  return {
    check: 'scan',
    severity: analyzed ? 'refuse' : 'warn',
    code: 'PLAN_SCANS',
    what: `PostgreSQL would not use the index on (${columns}) of ${table}, although it could`,
    why: `Each sub-batch would read about ${rowsRead.toLocaleString('en-US')} rows of ${table} for ${rowsInWindow.toLocaleString('en-US')}`,
    remedy: `It expects ${Math.round(judged.rowsExpected).toLocaleString('en-US')} rows. Run: analyze ${table}; if that does not help, let the cursor begin with a column of more different values`,
  }
}

/** Other tables that the work reads whole, each time. */
export function findOthers(others: readonly Access[], rowsOf: (access: Access) => number): PlanFinding[] {
  return others
    .map((access) => ({ name: `${access.schema}.${access.relation}`, rows: rowsOf(access) }))
    .filter(({ rows }) => rows > harmlessRows)
    .map(({ name, rows }) => ({
      check: 'other table',
      severity: 'warn',
      what: `Each sub-batch would read all of ${name}, about ${Math.round(rows).toLocaleString('en-US')} rows`,
      why: 'The scope, or the work, looks rows up there without an index',
      remedy: `Create an index on the columns of ${name} by which they are looked up`,
    }))
}
