/** How a plan uses indexes to find rows, and what these indexes are. */
import type { Connection } from '../../store/connection.ts'
import type { PlanNode } from '../findings.ts'

/** One table, or partition, that is read by one index. */
export interface IndexUse {
  schema: string
  index: string
  /** What the index is searched for. */
  condition: string
  /** Rows are looked at that the index finds and that are not wanted. */
  filtered: boolean
  /** Rows are read in the order of their pages: they lie in another one than the index has. */
  bitmap: boolean
  /** Rows that the index finds, where the plan says so. */
  rowsFound: number | undefined
}

const gathering = new Set(['Append', 'Merge Append', 'Result', 'Gather', 'Gather Merge'])

/** The ways in which a plan finds its rows, if these are indexes and nothing else. */
export function findingsOf(node: PlanNode): IndexUse[] | undefined {
  const type = node['Node Type']
  const inputs = (node.Plans ?? []).filter((child) => child['Parent Relationship']?.endsWith('Plan') !== true)
  if (gathering.has(type)) {
    const below = inputs.map(findingsOf)
    return below.length === 0 || below.includes(undefined) ? undefined : below.flatMap((uses) => uses ?? [])
  }
  const schema = node.Schema ?? ''
  const filtered = node.Filter !== undefined
  if (type === 'Bitmap Heap Scan') {
    const [only, ...more] = inputs
    const index = only?.['Index Name']
    if (only === undefined || index === undefined || more.length > 0) return undefined
    const condition = only['Index Cond'] ?? ''
    return [{ schema, index, condition, filtered, bitmap: true, rowsFound: only['Plan Rows'] }]
  }
  const index = node['Index Name']
  if (index === undefined || !type.startsWith('Index')) return undefined
  const condition = node['Index Cond'] ?? ''
  return [{ schema, index, condition, filtered, bitmap: false, rowsFound: filtered ? undefined : node['Plan Rows'] }]
}

/** What an index is made of. */
export interface IndexFacts {
  /** Its columns in order; null: an expression, or one that it keeps in another order than a walk has. */
  columns: (string | null)[]
  /** It keeps rows in order. */
  sorted: boolean
  /** It has some of the rows only. */
  partial: boolean
}

/** The indexes of a plan, by name. */
export async function readIndexes(
  connection: Connection,
  uses: readonly IndexUse[],
): Promise<ReadonlyMap<string, IndexFacts>> {
  const { rows } = await connection.query(
    `select x.relname as name, m.amname = 'btree' as sorted, i.indpred is not null as partial,
       array(select a.attname::text
             from unnest((i.indkey::int[])[0:i.indnkeyatts - 1]) with ordinality k(attnum, at)
             -- A walk is ascending with NULLs last, which an index can do in both directions.
             left join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum and k.attnum > 0
               and (i.indoption::int[])[k.at - 1] in (0, 3)
             order by k.at) as columns
     from unnest($1::text[], $2::text[]) used(schema, name)
     join pg_namespace n on n.nspname = used.schema
     join pg_class x on x.relnamespace = n.oid and x.relname = used.name
     join pg_index i on i.indexrelid = x.oid
     join pg_am m on m.oid = x.relam`,
    [uses.map(({ schema }) => schema), uses.map(({ index }) => index)],
  )
  return new Map((rows as unknown as (IndexFacts & { name: string })[]).map(({ name, ...facts }) => [name, facts]))
}

/** The column by whose values an index finds rows in one piece. */
export interface RangeUse {
  column: string
  /** It is the first of an index over all rows, and the piece begins where the index does. */
  alone: boolean
}

/** The column of an index that is limited by a condition, after columns that have one value each. */
export function rangeOf({ condition }: IndexUse, index: IndexFacts | undefined): RangeUse | undefined {
  if (index === undefined || !index.sorted) return undefined
  const clauses = clausesOf(condition)
  if (clauses === undefined) return undefined
  for (const [at, column] of index.columns.entries()) {
    const found = clauses.filter((clause) => clause.column === column)
    if (column === null || found.length === 0) return undefined
    if (found.some(({ operator }) => operator === '=')) continue
    const upward = found.every(({ operator }) => operator.startsWith('<'))
    return { column, alone: at === 0 && upward && !index.partial }
  }
  return undefined
}

interface Clause {
  column: string
  operator: string
}

/** A column, perhaps with its table before it and a cast behind it, and how it is compared. */
const clause =
  /^\(*(?:(?:"(?:[^"]|"")+"|[\w$]+)\.)?("(?:[^"]|"")+"|[\w$]+)\)?(?:::[a-z "]+)?\s+(<=|>=|<|>|=)\s+(?!ANY\b)/

/** The parts of the condition of an index; undefined: one of them is none that can be read. */
function clausesOf(condition: string): Clause[] | undefined {
  const found: Clause[] = []
  for (const part of partsOf(condition)) {
    const [, name, operator] = clause.exec(part) ?? []
    if (name === undefined || operator === undefined) return undefined
    found.push({ column: name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name, operator })
  }
  return found
}

/** A condition is `(a < 1)`, or `((a < 1) AND (b = 2))`: split where no text or name is open. */
function partsOf(condition: string): string[] {
  const parts: string[] = []
  let [depth, begin] = [0, 0]
  const several = condition.startsWith('((')
  const level = several ? 1 : 0
  for (const { 0: token, index } of condition.matchAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|[()]| AND /g)) {
    if (token === '(') depth++
    if (token === ')') depth--
    if (token !== ' AND ' || depth !== level) continue
    parts.push(condition.slice(begin, index))
    begin = index + token.length
  }
  return [...parts, condition.slice(begin)].filter((part) => part !== '')
}
