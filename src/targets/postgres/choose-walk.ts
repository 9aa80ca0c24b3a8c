/**
 * Chooses the index along which an operation goes through its table, before it starts.
 *
 * Where few rows of a large table are in scope, walking its primary key reads all of it. So the planner is asked how it
 * would find the rows in scope. Where that takes an index which has them in the order of the key, and no others, the
 * operation walks that index (`sparse`). Few rows that an index finds in another order are put in order with each search
 * (`found`). Where the planner would read the table, most rows are in scope or each would be on a page of its own, and
 * the walk is along the key.
 */
import sql, { raw, type Sql } from 'sql-template-tag'
import type { Connection } from '../../store/connection.ts'
import type { Pool } from '../../store/pool.ts'
import { sqlstate } from '../../store/sqlstate.ts'
import type { WalkKind } from '../../store/operations.ts'
import type { PlanNode, WalkChoice } from '../findings.ts'
import type { TableShape } from '../target.ts'
import { walkOfKind, type Cursor, type Walk } from '../walk.ts'
import { columnList } from './cursor.ts'
import { explain, withOnlyIndexes, withSettings } from './explain.ts'

/** A walk and why it was chosen. */
export interface Chosen {
  walk: Walk
  choice: WalkChoice
}

interface Asked {
  shape: TableShape
  cursor: Cursor
  scope: Sql | undefined
  /** Those that the operation can do with. */
  kinds: readonly WalkKind[]
}

/** The checks may hold nobody up. */
const limits = { statementMs: 2_000, lockMs: 200 }
/** This many rows are sorted in a few milliseconds. */
const fewRows = 10_000

export async function chooseWalk(checks: Pool, { shape, cursor, scope, kinds }: Asked): Promise<Chosen> {
  const byKey = { table: shape.qualifiedName, cursor }
  const along = (why: string): Chosen => ({ walk: byKey, choice: { kind: 'key', index: null, why } })
  if (scope === undefined) return along('all rows are in scope')
  if (kinds.length === 1) return along('no index but that of the key fits this operation')
  try {
    const choice = await checks.transaction(
      async (transaction) => choose(transaction, { ...byKey, only: scope }),
      limits,
    )
    return typeof choice === 'string' ? along(choice) : { walk: walkOfKind(byKey, choice.kind, scope), choice }
  } catch (error) {
    const state = sqlstate(error)
    if (state === '57014' || state === '55P03') return along('the table could not be looked at in time')
    throw error
  }
}

/** Chooses a walk that passes rows in scope alone; a text says why there is none, and the walk is along the key. */
async function choose(connection: Connection, walk: Walk & { only: Sql }): Promise<WalkChoice | string> {
  // A row has to be reached, not only its entry in an index; and a walk has no help of other processes.
  const query = sql`select ctid from ${raw(walk.table)} where (${walk.only})`
  const serial = { max_parallel_workers_per_gather: '0' }
  const uses = findingsOf(await withSettings(connection, serial, () => explain(connection, query)))
  if (uses === undefined) return 'reading the table costs less than finding the rows in scope by an index'
  const inOrder = await indexInOrder(connection, walk)
  if (inOrder !== undefined) return chosen('sparse', inOrder)
  const found = await fewFoundBy(connection, walk, uses)
  return found === undefined ? 'no index finds the rows in scope in the order of the key' : chosen('found', found)
}

function chosen(kind: WalkKind, index: string): WalkChoice {
  return { kind, index, why: `${index} finds the rows in scope alone` }
}

/**
 * The index that has the rows in scope, and no others, in the order of the cursor: asked for them in that order, the
 * server finds them all by the conditions of the index.
 */
async function indexInOrder(
  connection: Connection,
  { only, table, cursor }: Walk & { only: Sql },
): Promise<string | undefined> {
  const query = sql`
    select ${columnList(cursor)}
    from ${raw(table)}
    where (${only})
    order by ${columnList(cursor)}`
  const plan = await withOnlyIndexes(connection, () => explain(connection, query, 'plain'))
  return notAWalk(plan) === undefined ? indexesOf(plan)[0] : undefined
}

/** The index by which so few rows are found that each search may put them in order. */
async function fewFoundBy(
  connection: Connection,
  { only, table }: Walk & { only: Sql },
  uses: readonly IndexUse[],
): Promise<string | undefined> {
  const query = sql`select ctid from ${raw(table)} where (${only})`
  const bitmaps = { enable_seqscan: 'off', enable_indexscan: 'off', enable_tidscan: 'off' }
  const found = findingsOf(await withSettings(connection, bitmaps, () => explain(connection, query)))
  if (found === undefined || found.some(({ rowsFound }) => rowsFound === undefined)) return undefined
  const rows = found.reduce((sum, { rowsFound = 0 }) => sum + rowsFound, 0)
  return rows <= fewRows ? uses[0]?.index : undefined
}

/** One table, or partition, that is read by one index. */
interface IndexUse {
  index: string
  /** Rows that the index finds, where the plan says so. */
  rowsFound: number | undefined
}

const gathering = new Set(['Append', 'Merge Append', 'Result', 'Gather', 'Gather Merge'])

/** The ways in which a plan finds its rows, if these are indexes and nothing else. */
function findingsOf(node: PlanNode): IndexUse[] | undefined {
  const type = node['Node Type']
  const inputs = (node.Plans ?? []).filter((child) => child['Parent Relationship']?.endsWith('Plan') !== true)
  if (gathering.has(type)) {
    const below = inputs.map(findingsOf)
    return below.length === 0 || below.includes(undefined) ? undefined : below.flatMap((uses) => uses ?? [])
  }
  if (type === 'Bitmap Heap Scan') {
    const [only, ...more] = inputs
    const index = only?.['Index Name']
    return index === undefined || more.length > 0 ? undefined : [{ index, rowsFound: only?.['Plan Rows'] }]
  }
  const index = node['Index Name']
  if (index === undefined || !type.startsWith('Index')) return undefined
  return [{ index, rowsFound: node.Filter === undefined ? node['Plan Rows'] : undefined }]
}

/** Nodes that read no more than the rows that they pass on, in the order of an index. */
const walking = new Set(['Index Scan', 'Index Only Scan', 'Append', 'Merge Append', 'Result'])

/** What keeps a plan from being a walk along an index that holds the wanted rows alone; undefined: it is one. */
export function notAWalk(node: PlanNode): string | undefined {
  const type = node['Node Type']
  if (!walking.has(type)) return type === 'Sort' || type === 'Incremental Sort' ? 'it would sort' : 'it would scan'
  if (node.Filter !== undefined && type !== 'Result') {
    return `${node['Index Name'] ?? type} would be filtered by ${node.Filter}`
  }
  return (node.Plans ?? []).map(notAWalk).find((problem) => problem !== undefined)
}

function indexesOf(node: PlanNode): string[] {
  const own = node['Index Name']
  return [...(own === undefined ? [] : [own]), ...(node.Plans ?? []).flatMap(indexesOf)]
}
