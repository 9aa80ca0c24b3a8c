/**
 * Chooses the index along which an operation goes through its table, before it starts.
 *
 * Deleting the oldest percent of a table along its primary key reads all of it; along an index on the age it reads that
 * percent. So the planner is asked how it would find the rows in scope. Where that takes an index, the operation walks
 * that index: by the values of the column that the scope limits (`range`), or by the cursor where the index ends in it
 * (`sparse`). Few rows that an index finds in another order are put in order with each search (`found`). Where the
 * planner would read the table, most rows are in scope or each would be on a page of its own, and the walk is along the
 * key.
 *
 * A walk by values is only for changes that cannot move a row along it: a row that stays in scope would be met again.
 */
import sql, { raw, type Sql } from 'sql-template-tag'
import type { Connection } from '../../store/connection.ts'
import type { Pool } from '../../store/pool.ts'
import { sqlstate } from '../../store/sqlstate.ts'
import type { WalkKind } from '../../store/operations.ts'
import type { Changes } from '../changes.ts'
import type { PlanNode, WalkChoice } from '../findings.ts'
import type { TableShape } from '../target.ts'
import { walkOfKind, type Cursor, type Walk } from '../walk.ts'
import { columnList } from './cursor.ts'
import { explain, withOnlyIndexes, withSettings } from './explain.ts'
import { findingsOf, rangeOf, readIndexes, type IndexFacts, type IndexUse } from './index-use.ts'

/** A walk and why it was chosen. */
export interface Chosen {
  walk: Walk
  choice: WalkChoice
  /** Rows that it will pass, about. */
  rows: number
}

interface Asked {
  shape: TableShape
  cursor: Cursor
  scope: Sql | undefined
  changes: Changes
  /** Those that the operation can do with. */
  kinds: readonly WalkKind[]
}

/** The checks may hold nobody up. */
const limits = { statementMs: 2_000, lockMs: 200 }
/** Of rows on pages in random order, this share is cheaper to reach one by one than together with all others. */
const scattered = 0.05
/** This many rows are sorted in a few milliseconds. */
const fewRows = 10_000

/** Whose order is total, and whose texts lead back to the same value in any session. */
const ordered = new Set([
  'bigint',
  'character varying',
  'date',
  'integer',
  'numeric',
  'smallint',
  'text',
  'timestamp with time zone',
  'timestamp without time zone',
  'uuid',
])

export async function chooseWalk(checks: Pool, asked: Asked): Promise<Chosen> {
  const { shape, cursor, scope, kinds } = asked
  const rows = shape.rowsEstimate
  const along = (why: string): Chosen => ({
    walk: { table: shape.qualifiedName, cursor },
    choice: { kind: 'key', index: null, why },
    rows,
  })
  if (scope === undefined) return along('all rows are in scope')
  if (kinds.length === 1) return along('no index but that of the key fits this operation')
  try {
    return await checks.transaction(async (transaction) => choose(transaction, { ...asked, scope }, along), limits)
  } catch (error) {
    const state = sqlstate(error)
    if (state === '57014' || state === '55P03') return along('the table could not be looked at in time')
    throw error
  }
}

async function choose(
  connection: Connection,
  asked: Asked & { scope: Sql },
  along: (why: string) => Chosen,
): Promise<Chosen> {
  const { shape, scope } = asked
  // A row has to be reached, not only its entry in an index; and a walk has no help of other processes.
  const query = sql`select ctid from ${raw(shape.qualifiedName)} where (${scope})`
  const serial = { max_parallel_workers_per_gather: '0' }
  const plan = await withSettings(connection, serial, () => explain(connection, query))
  const uses = findingsOf(plan)
  if (uses === undefined) return along('reading the table costs less than finding the rows in scope by an index')
  const indexes = await readIndexes(connection, uses)
  const rows = plan['Plan Rows'] ?? 0
  const byValue = await rangeWalk(connection, asked, { uses, indexes, rows })
  return (
    byValue ??
    (await sparseWalk(connection, asked, uses)) ??
    along('no index finds the rows in scope in an order to go along')
  )
}

async function rangeWalk(
  connection: Connection,
  { shape, cursor, scope, changes, kinds }: Asked & { scope: Sql },
  { uses, indexes, rows }: { uses: readonly IndexUse[]; indexes: ReadonlyMap<string, IndexFacts>; rows: number },
): Promise<Chosen | undefined> {
  const ranges = uses.map((use) => rangeOf(use, indexes.get(use.index)))
  const [first] = ranges
  if (first === undefined || ranges.some((range) => range?.column !== first.column)) return undefined
  const column = shape.columns.find(({ name }) => name === first.column)
  if (column === undefined || !ordered.has(column.type)) return undefined
  if (uses.some(({ bitmap }) => bitmap) && rows > shape.rowsEstimate * scattered) return undefined
  if (await mayMove(connection, shape, { column, changes })) return undefined
  // The scope is part of each search where the index alone does not say where its rows are.
  const kind = ranges.every((range) => range?.alone === true) ? 'range' : 'sparse range'
  if (kind === 'sparse range' && uses.some(({ filtered }) => filtered)) return undefined
  if (!kinds.includes(kind)) return undefined
  const others = cursor.columns.flatMap((name, i) =>
    name === column.name ? [] : [{ name, type: cursor.types[i] ?? '' }],
  )
  const walked = {
    columns: [column.name, ...others.map(({ name }) => name)],
    types: [column.type, ...others.map(({ type }) => type)],
  }
  const index = uses[0]?.index ?? null
  const why = `${index} finds the rows in scope, about ${count(rows)} of ${count(shape.rowsEstimate)}`
  return {
    walk: walkOfKind({ table: shape.qualifiedName, cursor: walked }, kind, scope),
    choice: { kind, index, why },
    rows,
  }
}

const count = (rows: number): string => Math.round(rows).toLocaleString('en-US')

/** Whether the change of a row may move it along the walk, to where it would be met again. */
async function mayMove(
  connection: Connection,
  { qualifiedName }: TableShape,
  { column, changes }: { column: { name: string; generated?: boolean }; changes: Changes },
): Promise<boolean> {
  if (changes.kind === 'delete') return false
  if (changes.kind === 'unknown' || changes.columns === undefined) return true
  if (column.generated === true || changes.columns.includes(column.name)) return true
  const { rows } = await connection.query(
    `with walked as (
       select to_regclass($1)::oid as oid union select p.relid from pg_partition_tree(to_regclass($1)) p
     )
     select exists (select from pg_trigger t join walked w on w.oid = t.tgrelid
         where not t.tgisinternal and t.tgenabled in ('O', 'A') and t.tgtype & 16 <> 0)
       or exists (select from pg_rewrite r join walked w on w.oid = r.ev_class
         where r.ev_type = '2' and r.ev_enabled in ('O', 'A')) as may`,
    [qualifiedName],
  )
  return (rows[0] as { may: boolean }).may
}

async function sparseWalk(
  connection: Connection,
  { shape, cursor, scope }: Asked & { scope: Sql },
  uses: readonly IndexUse[],
): Promise<Chosen | undefined> {
  const walk = { table: shape.qualifiedName, cursor, only: scope }
  const chosen = (kind: WalkKind, index: string): Chosen => ({
    walk: walkOfKind(walk, kind, scope),
    choice: { kind, index, why: `${index} finds the rows in scope alone` },
    rows: shape.rowsEstimate,
  })
  const inOrder = await indexInOrder(connection, walk)
  if (inOrder !== undefined) return chosen('sparse', inOrder)
  const found = await fewFoundBy(connection, walk, uses)
  return found === undefined ? undefined : chosen('found', found)
}

/**
 * The index that has the rows in scope, and no others, in the order of the cursor: asked for them in that order, the
 * server finds them all by the conditions of the index.
 */
async function indexInOrder(connection: Connection, { only, table, cursor }: Walk): Promise<string | undefined> {
  const query = sql`
    select ${columnList(cursor)}
    from ${raw(table)}
    where (${only ?? sql`true`})
    order by ${columnList(cursor)}`
  const plan = await withOnlyIndexes(connection, () => explain(connection, query, 'plain'))
  return notAWalk(plan) === undefined ? indexesOf(plan)[0] : undefined
}

/** The index by which so few rows are found that each search may put them in order. */
async function fewFoundBy(
  connection: Connection,
  { only, table }: Walk,
  uses: readonly IndexUse[],
): Promise<string | undefined> {
  const query = sql`select ctid from ${raw(table)} where (${only ?? sql`true`})`
  const bitmaps = { enable_seqscan: 'off', enable_indexscan: 'off', enable_tidscan: 'off' }
  const found = findingsOf(await withSettings(connection, bitmaps, () => explain(connection, query)))
  if (found === undefined || found.some(({ rowsFound }) => rowsFound === undefined)) return undefined
  const rows = found.reduce((sum, { rowsFound = 0 }) => sum + rowsFound, 0)
  return rows <= fewRows ? uses[0]?.index : undefined
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
