import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { StoreConnection } from '../../store/connection.ts'
import { isFoundByText, keyText } from './cursor.ts'
import { quote } from '../fragment.ts'
import type { Cursor } from '../walk.ts'
import type { Marks, SweptTable } from './swept-table.ts'

/** A row, and its key as the database writes it. */
export interface FoundRow {
  key: string[]
  row: Record<string, unknown>
  /** Whether it is due at this moment. */
  due: boolean
  /** What it refers to, where its sweep counts references. */
  refersTo: string | null
  /** Whether its key leads back to it. */
  findable: boolean
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
  swept: SweptTable,
  { sweep, limit }: { sweep: string; limit: number },
): Promise<FoundRow[]> {
  const { table, key, order } = swept
  return found(
    connection,
    sql`
    select ${keyText(key, 't.')} as sluice_key, true as sluice_due, null as sluice_refers_to,
      ${isFoundByText(key, 't.')} as sluice_findable, t.*
    from ${raw(table)} t
    where ${isClaimable(swept)} and ${isUnclaimed(connection, swept, sweep)}
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
  swept: SweptTable & { marks: Marks },
  { sweep, limit }: { sweep: string; limit: number },
): Promise<FoundRow[]> {
  const { table, key, due, marks } = swept
  return found(
    connection,
    sql`
    select ${keyText(key, 't.')} as sluice_key, coalesce((${due}), false) as sluice_due, null as sluice_refers_to,
      ${isFoundByText(key, 't.')} as sluice_findable, t.*
    from ${raw(table)} t
    where ${isStatus(marks, marks.to)} and t.${named(marks.nonce)} is not null
      and ${isUnclaimed(connection, swept, sweep)}
    order by ${inOrder(key.columns)}
    limit ${limit}
    for update of t skip locked`,
  )
}

/** How many rows are due and not claimed; counts no further than `most`. */
export async function countDue(
  connection: StoreConnection,
  swept: SweptTable,
  { sweep, most }: { sweep: string; most: number },
): Promise<number> {
  const { table, order } = swept
  const query = sql`
    select count(*)::int as rows
    from (select from ${raw(table)} t
          where ${isClaimable(swept)} and ${isUnclaimed(connection, swept, sweep)}
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
      ${raw(reference === undefined ? 'null' : `t.${quote(reference.by)}::text`)} as sluice_refers_to, true as sluice_findable, t.*
    from ${raw(table)} t
    join ${wantedRows(key, wanted)} on ${sameKey(key)}
    ${marks === undefined ? empty : sql`where ${isClaimed(marks)}`}
    order by ${inOrder(key.columns)}
    ${raw(lock)}`,
  )
}

/** Locks those of the given rows that may be claimed at this moment and that nobody else has locked; gives their keys. */
export async function lockClaimable(
  connection: StoreConnection,
  swept: SweptTable,
  wanted: readonly WantedRow[],
): Promise<{ key: string[] }[]> {
  const { table, key } = swept
  const query = sql`
    select sluice_wanted.sluice_key as key
    from ${raw(table)} t
    join ${wantedRows(key, wanted)} on ${sameKey(key)}
    where ${isClaimable(swept)}
    for update of t skip locked`
  return (await connection.query(query.text, query.values)).rows as { key: string[] }[]
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
  return sql`(select ${raw(columns)}, sluice_one ->> 'nonce' as sluice_nonce,
      array(select jsonb_array_elements_text(sluice_one -> 'key')) as sluice_key
    from jsonb_array_elements(${JSON.stringify(wanted)}::jsonb) sluice_one) sluice_wanted`
}

export function sameKey({ columns }: Cursor): Sql {
  return raw(columns.map((name, i) => `t.${quote(name)} = sluice_wanted.sluice_k${i}`).join(' and '))
}

/** The row may be claimed: it is due, and its status, where it has one, says that nobody has it. */
export function isClaimable({ due, marks }: SweptTable): Sql {
  return marks === undefined ? sql`(${due})` : sql`${isStatus(marks, marks.from)} and (${due})`
}

/**
 * Our own table knows of no claim on the row: none of this sweep by its key, and by the nonce that stands in the row
 * none of another sweep that has its claims in the same columns.
 */
function isUnclaimed({ schema }: StoreConnection, { key, marks }: SweptTable, sweep: string): Sql {
  const claims = raw(`${schema}.sweep_claim sluice_claim`)
  const byKey = sql`not exists (select from ${claims}
        where sluice_claim.sweep = ${sweep} and sluice_claim.key = ${keyText(key, 't.')})`
  if (marks === undefined) return byKey
  return sql`${byKey}
      and not exists (select from ${claims} where sluice_claim.nonce::text = t.${named(marks.nonce)}::text)`
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
  return rows.map(
    ({ sluice_key: key, sluice_due: due, sluice_refers_to: refersTo, sluice_findable: findable, ...row }) => ({
      key: key as string[],
      due: due === true,
      refersTo: refersTo as string | null,
      findable: findable === true,
      row,
    }),
  )
}

async function run(connection: StoreConnection, { text, values }: Sql): Promise<void> {
  await connection.query(text, values)
}
