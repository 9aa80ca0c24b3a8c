import sql, { raw } from 'sql-template-tag'
import type { Connection } from '../../store/connection.ts'
import { quote } from '../fragment.ts'
import type { StatePlace } from './state.ts'
import { describeTable } from './table.ts'

/** So many rows are counted; beyond that a count costs more than it tells. */
const most = 10_000

/** Rows by state, and how far the numbers can be trusted. */
export interface Tally {
  /** `exact`: all rows were counted. `bounded`: up to 10,000 of each state, by an index. `estimate`: by statistics. */
  counted: 'exact' | 'bounded' | 'estimate'
  rows: Map<string, number>
}

/** Counts rows by state, without ever reading a large table: exactly when it is small, else by index or estimate. */
export async function tallyStates(
  connection: Connection,
  place: StatePlace,
  states: readonly string[],
): Promise<Tally> {
  const all = await countAll(connection, place)
  if (all !== undefined) return { counted: 'exact', rows: all }
  const shape = await describeTable(connection, place.table)
  if (shape.indexes.some((columns) => columns[0] === place.state)) {
    const rows = new Map<string, number>()
    for (const state of states) rows.set(state, await countOne(connection, place, state))
    return { counted: 'bounded', rows }
  }
  return { counted: 'estimate', rows: await estimate(connection, place, shape.rowsEstimate) }
}

async function countAll(
  connection: Connection,
  { table, state }: StatePlace,
): Promise<Map<string, number> | undefined> {
  const query = sql`
    select state, count(*)::int as rows
    from (select ${raw(quote(state))}::text as state from ${raw(table)} limit ${most + 1}) counted
    group by state`
  const rows = (await connection.query(query.text, query.values)).rows as { state: string | null; rows: number }[]
  if (rows.reduce((sum, one) => sum + one.rows, 0) > most) return undefined
  return new Map(rows.map((one) => [String(one.state), one.rows]))
}

async function countOne(connection: Connection, { table, state }: StatePlace, value: string): Promise<number> {
  const query = sql`
    select count(*)::int as rows
    from (select from ${raw(table)} where ${raw(quote(state))} = ${value} limit ${most}) counted`
  return ((await connection.query(query.text, query.values)).rows[0] as { rows: number }).rows
}

async function estimate(
  connection: Connection,
  { table, state }: StatePlace,
  rowsEstimate: number,
): Promise<Map<string, number>> {
  const query = sql`
    select v.value as state, v.freq as share
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_stats s on s.schemaname = n.nspname and s.tablename = c.relname
    cross join lateral unnest(s.most_common_vals::text::text[], s.most_common_freqs) v(value, freq)
    where c.oid = to_regclass(${table}) and s.attname = ${state}`
  const rows = (await connection.query(query.text, query.values)).rows as { state: string; share: number }[]
  return new Map(rows.map((one) => [one.state, Math.round(one.share * rowsEstimate)]))
}
