import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { StoreConnection } from '../store/connection.ts'
import { keyText, quote, type Cursor } from './cursor.ts'
import type { Marks, SweptTable } from './swept-table.ts'

/** A row, and its key as the database writes it. */
export interface FoundRow {
  key: string[]
  row: Record<string, unknown>
  /** Whether it is due at this moment. */
  due: boolean
  /** What it refers to, where its sweep counts references. */
  refersTo: string | null
}

/** Which row, and under which nonce its claim stands. */
export interface WantedRow {
  key: readonly string[]
  nonce: string
}

/**
 * Locks due rows that nobody has claimed, in order; those that somebody else has locked are left to him. A row with a
 * claim in our own table is passed over, also where its status says nothing of it.
 */
export async function lockDue(
  connection: StoreConnection,
  { table, key, due, order, marks }: SweptTable,
  { sweep, limit }: { sweep: string; limit: number },
): Promise<FoundRow[]> {
  return found(
    connection,
    sql`
    select ${keyText(key, 't.')} as sluice_key, true as sluice_due, null as sluice_refers_to, t.*
    from ${raw(table)} t
    where ${marks === undefined ? empty : sql`${isStatus(marks, marks.from)} and`} (${due})
      and not exists (select from ${raw(connection.schema)}.sweep_claim sluice_claim
                      where sluice_claim.sweep = ${sweep} and sluice_claim.key = ${keyText(key, 't.')})
    order by ${inOrder(order)}
    limit ${limit}
    for update of t skip locked`,
  )
}

/**
 * Locks rows that say they are claimed and of which our own table knows nothing: it was emptied, or restored from an
 * older day. Nobody would ever look at them again.
 */
export async function lockStray(
  connection: StoreConnection,
  { table, key, due, marks }: SweptTable & { marks: Marks },
  { sweep, limit }: { sweep: string; limit: number },
): Promise<FoundRow[]> {
  return found(
    connection,
    sql`
    select ${keyText(key, 't.')} as sluice_key, coalesce((${due}), false) as sluice_due, null as sluice_refers_to, t.*
    from ${raw(table)} t
    where ${isStatus(marks, marks.to)} and t.${named(marks.nonce)} is not null
      and not exists (select from ${raw(connection.schema)}.sweep_claim sluice_claim
                      where sluice_claim.sweep = ${sweep} and sluice_claim.key = ${keyText(key, 't.')})
    order by ${inOrder(key.columns)}
    limit ${limit}
    for update of t skip locked`,
  )
}

/** How many rows are due and not claimed; counts no further than `most`. */
export async function countDue(
  connection: StoreConnection,
  { table, key, due, order, marks }: SweptTable,
  { sweep, most }: { sweep: string; most: number },
): Promise<number> {
  const query = sql`
    select count(*)::int as rows
    from (select from ${raw(table)} t
          where ${marks === undefined ? empty : sql`${isStatus(marks, marks.from)} and`} (${due})
            and not exists (select from ${raw(connection.schema)}.sweep_claim sluice_claim
                            where sluice_claim.sweep = ${sweep} and sluice_claim.key = ${keyText(key, 't.')})
          -- As the index has them: without an order the planner would rather read the table.
          order by ${inOrder(order)}
          limit ${most}) sluice_due`
  const { rows } = await connection.query(query.text, query.values)
  return (rows[0] as { rows: number }).rows
}

/**
 * Rows whose claim stands as it is given, by their own columns where they have them, each with whether it is due.
 * `wait` locks them in the order of their keys, `skip` locks those that are free, `look` none.
 */
export async function findClaimed(
  connection: StoreConnection,
  { table, key, due, marks, reference }: SweptTable,
  wanted: readonly WantedRow[],
  how: 'wait' | 'skip' | 'look',
): Promise<FoundRow[]> {
  const lock = { wait: 'for update of t', skip: 'for update of t skip locked', look: '' }[how]
  return found(
    connection,
    sql`
    select ${keyText(key, 't.')} as sluice_key, coalesce((${due}), false) as sluice_due,
      ${raw(reference === undefined ? 'null' : `t.${quote(reference.by)}::text`)} as sluice_refers_to, t.*
    from ${raw(table)} t
    join ${wantedRows(key, wanted)} on ${sameKey(key)}
    ${marks === undefined ? empty : sql`where ${isClaimed(marks)}`}
    order by ${inOrder(key.columns)}
    ${raw(lock)}`,
  )
}

/** Writes a claim into rows that are locked, where they have columns for it. */
export async function stamp(
  connection: StoreConnection,
  { table, key, marks }: SweptTable,
  wanted: readonly WantedRow[],
  workerId: string,
): Promise<void> {
  if (marks === undefined || wanted.length === 0) return
  const sets = [
    sql`${named(marks.status)} = ${cast(marks.to, marks.status.type)}`,
    sql`${named(marks.nonce)} = sluice_wanted.sluice_nonce::${raw(marks.nonce.type)}`,
    ...(marks.worker === undefined ? [] : [sql`${named(marks.worker)} = ${cast(workerId, marks.worker.type)}`]),
    ...(marks.claimedAt === undefined ? [] : [sql`${named(marks.claimedAt)} = clock_timestamp()`]),
  ]
  await run(
    connection,
    sql`update ${raw(table)} t set ${join(sets)} from ${wantedRows(key, wanted)} where ${sameKey(key)}`,
  )
}

/** Takes the claim out of rows that are locked: their status is what it was before. */
export async function unstamp(
  connection: StoreConnection,
  { table, key, marks }: SweptTable,
  wanted: readonly WantedRow[],
): Promise<void> {
  if (marks === undefined || wanted.length === 0) return
  const sets = [sql`${named(marks.status)} = ${cast(marks.from, marks.status.type)}`, ...blanks(marks)]
  const where = sql`${sameKey(key)} and ${isClaimed(marks)}`
  await run(connection, sql`update ${raw(table)} t set ${join(sets)} from ${wantedRows(key, wanted)} where ${where}`)
}

/** What empties the columns of a claim, but for the status. */
export function blanks({ nonce, worker, claimedAt }: Marks): Sql[] {
  return [nonce, worker, claimedAt].flatMap((column) => (column === undefined ? [] : [sql`${named(column)} = null`]))
}

/** The given keys as a table to join, each with its nonce. */
export function wantedRows({ types }: Cursor, wanted: readonly WantedRow[]): Sql {
  const columns = types.map((type, i) => `(sluice_one -> 'key' ->> ${i})::${type} as sluice_k${i}`).join(', ')
  return sql`(select ${raw(columns)}, sluice_one ->> 'nonce' as sluice_nonce
    from jsonb_array_elements(${JSON.stringify(wanted)}::jsonb) sluice_one) sluice_wanted`
}

export function sameKey({ columns }: Cursor): Sql {
  return raw(columns.map((name, i) => `t.${quote(name)} = sluice_wanted.sluice_k${i}`).join(' and '))
}

/** The claim in the row's own columns is the wanted one. */
export function isClaimed(marks: Marks): Sql {
  return sql`${isStatus(marks, marks.to)} and t.${named(marks.nonce)} = sluice_wanted.sluice_nonce::${raw(marks.nonce.type)}`
}

function isStatus({ status }: Marks, word: string): Sql {
  return sql`t.${named(status)} = ${cast(word, status.type)}`
}

const inOrder = (columns: readonly string[]): Sql => raw(columns.map((name) => `t.${quote(name)}`).join(', '))

const named = ({ name }: { name: string }): Sql => raw(quote(name))

/** A word as a value of a column's type, which may be an enumeration. */
const cast = (word: string, type: string): Sql => sql`${word}::text::${raw(type)}`

async function found(connection: StoreConnection, query: Sql): Promise<FoundRow[]> {
  const { rows } = await connection.query(query.text, query.values)
  return rows.map(({ sluice_key: key, sluice_due: due, sluice_refers_to: refersTo, ...row }) => ({
    key: key as string[],
    due: due === true,
    refersTo: refersTo as string | null,
    row,
  }))
}

async function run(connection: StoreConnection, { text, values }: Sql): Promise<void> {
  await connection.query(text, values)
}
