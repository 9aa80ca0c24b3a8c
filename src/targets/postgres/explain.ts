import sql, { raw, type Sql } from 'sql-template-tag'
import type { PlanNode, Recorded } from '../findings.ts'
import type { Connection } from '../../store/connection.ts'
import { quote } from '../fragment.ts'
import { sliceOf } from './change.ts'
import type { Slice } from '../walk.ts'

/** One way in which a plan reads a table. */
export interface Access {
  /** The table, or the partition, that is read. */
  schema: string
  relation: string
  how: 'index' | 'bitmap' | 'scan'
  /** Indexes that find the rows; more than one for a bitmap of several. */
  indexes: readonly string[]
  /** By which of them; empty: all rows. */
  condition: string
  /** Rows read, where the statement was run; those that were filtered out among them. */
  rowsRead: number
}

/** The statements that some work would run first, as long as it finds no row. Nothing reaches the database. */
export async function statementsOf(work: (connection: Connection) => Promise<unknown>): Promise<Recorded[]> {
  const recorded: Recorded[] = []
  await work({
    query: async (text, values) => {
      recorded.push({ text, values })
      return Promise.resolve({ rows: [], rowCount: 0 })
    },
  })
  return recorded
}

/** The rows of a slice, in no order: as work finds them of which nothing else is known. */
export function rowsOf(slice: Slice): Sql {
  return sql`select * from ${raw(slice.walk.table)} where ${sliceOf(slice)}`
}

/** How the server would run a statement; `plain` has the names of columns without that of their table. */
export async function explain(
  connection: Connection,
  { text, values }: Recorded,
  names: 'plain' | 'verbose' = 'verbose',
): Promise<PlanNode> {
  return planOf(connection, { text: `explain (${names === 'verbose' ? 'verbose, ' : ''}format json) ${text}`, values })
}

/** How the server runs a query, with the rows that it read. The query is run: for those that change nothing only. */
export async function measure(connection: Connection, { text, values }: Recorded): Promise<PlanNode> {
  return planOf(connection, { text: `explain (analyze, timing off, verbose, format json) ${text}`, values })
}

async function planOf(connection: Connection, { text, values }: Recorded): Promise<PlanNode> {
  const { rows } = await connection.query(text, values)
  // A rule may leave nothing of a statement that could be planned.
  const [answer] = rows as { 'QUERY PLAN': { Plan?: PlanNode }[] }[]
  return answer?.['QUERY PLAN'][0]?.Plan ?? { 'Node Type': 'Result' }
}

/**
 * Looks while the planner has nothing to choose from but an index in order: small tables are read whole whatever their
 * indexes are. The connection is inside a transaction.
 */
export async function withOnlyIndexes<T>(connection: Connection, look: () => Promise<T>): Promise<T> {
  const off = { enable_seqscan: 'off', enable_bitmapscan: 'off', enable_sort: 'off', enable_incremental_sort: 'off' }
  return withSettings(connection, off, look)
}

/** Looks while these settings hold. The connection is inside a transaction. */
export async function withSettings<T>(
  connection: Connection,
  settings: Record<string, string>,
  look: () => Promise<T>,
): Promise<T> {
  await connection.query('savepoint before_look', [])
  try {
    await connection.query(`select set_config(name, value, true) from unnest($1::text[], $2::text[]) s(name, value)`, [
      Object.keys(settings),
      Object.values(settings),
    ])
    return await look()
  } finally {
    await connection.query('rollback to savepoint before_look', [])
  }
}

/** Whether a plan puts rows in order that no index has in order. */
export function sorts(node: PlanNode): boolean {
  return node['Node Type'] === 'Sort' || (node.Plans ?? []).some(sorts)
}

/** How many rows the planner expects in a table, or in a part of it; it looks at the size of the file, too. */
export async function expectedRows(connection: Connection, table: string, where?: Sql): Promise<number> {
  const query = where === undefined ? sql`select from ${raw(table)}` : sql`select from ${raw(table)} where ${where}`
  return (await explain(connection, query))['Plan Rows'] ?? 0
}

/** All the ways in which a plan reads tables. */
export function accessesOf(node: PlanNode): Access[] {
  const below = (node.Plans ?? []).flatMap(accessesOf)
  const own = node['Node Type'] === 'ModifyTable' ? undefined : accessOf(node)
  return own === undefined ? below : [own, ...below]
}

function accessOf(node: PlanNode): Access | undefined {
  const { Schema: schema = '', 'Relation Name': relation } = node
  if (relation === undefined) return undefined
  const loops = node['Actual Loops'] ?? 0
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  const rowsRead = Math.round(loops * ((node['Actual Rows'] ?? 0) + removed))
  const found = { schema, relation, rowsRead }
  const type = node['Node Type']
  if (type === 'Bitmap Heap Scan') {
    return { ...found, how: 'bitmap', indexes: indexesBelow(node), condition: node['Recheck Cond'] ?? '' }
  }
  const index = node['Index Name']
  if (index === undefined) return { ...found, how: 'scan', indexes: [], condition: '' }
  return { ...found, how: 'index', indexes: [index], condition: node['Index Cond'] ?? '' }
}

function indexesBelow(node: PlanNode): string[] {
  return (node.Plans ?? []).flatMap((child) => [
    ...(child['Index Name'] === undefined ? [] : [child['Index Name']]),
    ...indexesBelow(child),
  ])
}

/** Whether rows are found by a condition on that column, and not by looking at others, too. */
export function isFoundBy({ how, condition }: Access, column: string): boolean {
  if (how === 'scan') return false
  const names = condition.replaceAll(/'(?:[^']|'')*'/g, '')
  // The server quotes what is not plain, and every keyword.
  if (names.includes(quote(column))) return true
  return /^[a-z_][a-z0-9_]*$/.test(column) && new RegExp(`(?<![\\w$"])${column}(?![\\w$"])`).test(names)
}
