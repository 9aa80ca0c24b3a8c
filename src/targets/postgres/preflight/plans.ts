import sql, { join, raw, type Sql } from 'sql-template-tag'
import type { PlannedStatement } from '../../findings.ts'
import type { Connection } from '../../../store/connection.ts'
import { sqlstate } from '../../../store/sqlstate.ts'
import { deleteRows, updateRows } from '../change.ts'
import type { Slice, KeyWindow, Walk } from '../../walk.ts'
import { quote } from '../../fragment.ts'
import {
  accessesOf,
  expectedRows,
  explain,
  measure,
  rowsOf,
  sorts,
  statementsOf,
  withOnlyIndexes,
  type Access,
} from '../explain.ts'
import type { PlanNode, Recorded, PlanFinding } from '../../findings.ts'
import { estimatedRows, type Ground } from '../surroundings.ts'
import { countRows, keyAt, within } from '../window.ts'
import type { Changes } from '../../changes.ts'
import { findOthers, judgeScan, sortAccesses, type Found } from './scan.ts'

/** A walk whose statements are to be looked at. */
export interface Walked {
  walk: Walk
  scope: Sql | undefined
  changes: Changes
  ground: Ground
  /** Where it begins and ends. */
  range: KeyWindow
  batchSize: number
  subBatchSize: number
}

/** What was found of one statement. */
interface Looked {
  statements: PlannedStatement[]
  findings: PlanFinding[]
}

/**
 * The plans of the statements that run again and again, and what is wrong with them. The first is only planned; unless
 * it walks an index, nothing is looked up by it.
 */
export async function lookAtPlans(connection: Connection, walked: Walked): Promise<Looked> {
  const { walk, range, batchSize } = walked
  const [carve] = await statementsOf((recorder) => keyAt(recorder, { walk, window: range, count: batchSize }))
  const carved = await lookAt(connection, walked, {
    statement: 'carve',
    recorded: carve,
    window: range,
    rowsInWindow: batchSize,
  })
  if (carved.findings.some(({ severity }) => severity === 'refuse')) return carved
  const { window, rows } = await typicalWindow(connection, walked)
  const [work] = await statementsOf((recorder) => workOn(recorder, walked, window))
  const worked = await lookAt(connection, walked, { statement: 'work', recorded: work, window, rowsInWindow: rows })
  return {
    statements: [...carved.statements, ...worked.statements],
    findings: [...carved.findings, ...worked.findings],
  }
}

async function lookAt(
  connection: Connection,
  walked: Walked,
  { recorded, ...place }: Pick<Look, 'statement' | 'window' | 'rowsInWindow'> & { recorded: Recorded | undefined },
): Promise<Looked> {
  if (recorded === undefined) return { statements: [], findings: [] }
  const plan = await explain(connection, recorded)
  const found = foundIn(plan, walked, place.statement)
  const scan = await lookAtScan(connection, { ...place, walked, recorded, found })
  const words = inWords(accessesOf(plan))
  // A small table is read whole, and that is as it should be.
  const cheap =
    found.byCursor || scan !== undefined || walked.walk.unordered === true
      ? ''
      : ', which is cheaper here than its index'
  return {
    statements: [{ statement: place.statement, text: recorded.text, ...words, found: `${words.found}${cheap}`, plan }],
    findings: [...(scan === undefined ? [] : [scan]), ...(await lookAtOthers(connection, found))],
  }
}

/**
 * The second window of the walk: it has a lower bound, as all but the first have, and the planner takes an open end for
 * a third of the table when it has no statistics.
 */
async function typicalWindow(
  connection: Connection,
  { walk, range, subBatchSize: count }: Walked,
): Promise<{ window: KeyWindow; rows: number }> {
  const first = await keyAt(connection, { walk, window: range, count })
  if (first === null) return { window: range, rows: count }
  const rest = { lower: first, upper: range.upper }
  return {
    window: { lower: first, upper: (await keyAt(connection, { walk, window: rest, count })) ?? range.upper },
    rows: count,
  }
}

/** The statement of the presets, and the same for all others: rows of a window, by whatever they are then changed. */
async function workOn(recorder: Connection, walked: Walked, window: KeyWindow): Promise<unknown> {
  const { walk, scope, changes, ground } = walked
  const slice: Slice = { walk, window, scope }
  if (changes.kind === 'delete' && ground.mayDelete) return deleteRows(recorder, slice)
  if (changes.kind === 'update' && ground.mayUpdate && changes.columns !== undefined) {
    const same = changes.columns.map((name) => sql`${raw(quote(name))} = ${raw(quote(name))}`)
    return updateRows(recorder, slice, join(same))
  }
  const { text, values } = rowsOf(slice)
  return recorder.query(text, values)
}

interface Look {
  walked: Walked
  statement: 'carve' | 'work'
  recorded: Recorded
  found: Found
  window: KeyWindow
  rowsInWindow: number
}

async function lookAtScan(connection: Connection, look: Look): Promise<PlanFinding | undefined> {
  if (look.found.byCursor) return undefined
  const { walk, ground, scope } = look.walked
  const whole = look.found.strays.some(({ how }) => how === 'scan')
  const rowsRead = whole
    ? await expectedRows(connection, walk.table)
    : await measuredRows(connection, { walk, window: look.window, scope, ground })
  return judgeScan({
    statement: look.statement,
    table: walk.table,
    cursor: walk.cursor.columns,
    rowsRead,
    rowsInWindow: look.rowsInWindow,
    rowsExpected: await expectedRows(connection, walk.table, within(walk, look.window)),
    provable: await isProvable(connection, look),
    analyzed: ground.analyzed,
  })
}

/** Rows of the walked table that are really read for a window, by running a query that changes nothing. */
async function measuredRows(
  connection: Connection,
  { walk, window, scope, ground }: Slice & { ground: Ground },
): Promise<number> {
  const [query] = await statementsOf((recorder) => countRows(recorder, walk, window, scope))
  if (query === undefined) return 0
  const names = ground.relations.map(({ name }) => name)
  const own = accessesOf(await measure(connection, query)).filter(({ relation }) => names.includes(relation))
  return own.reduce((sum, { rowsRead }) => sum + rowsRead, 0)
}

/** Whether an index could find the rows: a small table is read whole although one is there. */
async function isProvable(connection: Connection, { walked, statement, recorded }: Look): Promise<boolean> {
  const plan = await withOnlyIndexes(connection, () => explain(connection, recorded))
  return foundIn(plan, walked, statement).byCursor
}

/** How a plan finds the rows of a window. The end of a batch is found by walking, never by putting rows in order. */
function foundIn(plan: PlanNode, { walk, ground }: Walked, statement: 'carve' | 'work'): Found {
  // Where the rows are put in order first, any index may find them.
  if (walk.unordered === true && statement === 'carve') return sortAccesses(accessesOf(plan), ground.relations)
  const accesses = accessesOf(plan).map((access): Access =>
    statement === 'carve' && sorts(plan) ? { ...access, how: 'scan' } : access,
  )
  return sortAccesses(accesses, ground.relations, walk.cursor.columns[0] ?? '')
}

async function lookAtOthers(connection: Connection, { others }: Found): Promise<PlanFinding[]> {
  const rows = new Map<Access, number>()
  for (const access of others) rows.set(access, await estimatedRows(connection, access.schema, access.relation))
  return findOthers(others, (access) => rows.get(access) ?? 0)
}

/** The plan of a statement that a dry run has run; undefined: it is none that can be planned. */
export async function planOf(connection: Connection, recorded: Recorded): Promise<PlannedStatement | undefined> {
  try {
    const plan = await explain(connection, recorded)
    return { statement: 'work', text: recorded.text, ...inWords(accessesOf(plan)), plan }
  } catch (error) {
    if (sqlstate(error) === undefined) throw error
    return undefined
  }
}

/** How rows are found, in words. */
function inWords(accesses: readonly Access[]): Pick<PlannedStatement, 'found' | 'indexes'> {
  const words = accesses.map(({ how, relation, indexes }) =>
    how === 'scan'
      ? `reads all of ${relation}`
      : `${how === 'bitmap' ? 'bitmap of' : 'index'} ${indexes.join(' and ')}`,
  )
  const [first = 'reads no table', ...rest] = [...new Set(words)]
  const more = rest.length > 3 ? [...rest.slice(0, 2), `${rest.length - 2} more`] : rest
  return { found: [first, ...more].join(', '), indexes: [...new Set(accesses.flatMap(({ indexes }) => indexes))] }
}
