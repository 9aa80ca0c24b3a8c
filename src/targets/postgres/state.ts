import sql, { empty, raw, type Sql } from 'sql-template-tag'
import { SluiceError } from '../../errors.ts'
import { didYouMean } from '../../std/suggest.ts'
import type { Connection } from '../../store/connection.ts'
import { sqlstate } from '../../store/sqlstate.ts'
import { quote } from '../fragment.ts'
import { describeTable } from './table.ts'

/** Where rows have their state: a table, and the columns for key, state and the moment of the last transition. */
export interface StatePlace {
  table: string
  key: string
  state: string
  changedAt: string
}

/** A row and the state that it is in. */
export interface RowInState {
  row: Record<string, unknown>
  key: string
  state: string
  /** The moment at which it came into this state, as text with all its digits. */
  entered: string
}

/** Refuses a table that lacks one of the columns, or whose rows the key does not tell apart. */
export async function checkStatePlace(connection: Connection, place: StatePlace): Promise<void> {
  const shape = await describeTable(connection, place.table)
  const known = shape.columns.map(({ name }) => name)
  const refuse = (problem: string): never => {
    throw new SluiceError('TABLE_INVALID', {
      message: `${shape.qualifiedName} cannot hold the rows of a machine: ${problem}`,
      details: { table: place.table },
    })
  }
  for (const name of [place.key, place.state, place.changedAt]) {
    if (known.includes(name)) continue
    const fix =
      name === place.changedAt
        ? `Run: alter table ${shape.qualifiedName} add column ${quote(name)} timestamptz not null default now();`
        : didYouMean(name, known)
    refuse(`it has no column "${name}". ${fix.trim()}`)
  }
  if (!shape.uniqueKeys.some((columns) => columns.length === 1 && columns[0] === place.key)) {
    refuse(`"${place.key}" is not unique, so a transition could move several rows. Name a unique column as "key".`)
  }
}

/** Whether a text can be a key of the column at all. One that cannot would end the transaction in which it is used. */
export async function canBeKey(connection: Connection, place: StatePlace, key: string): Promise<boolean> {
  const query = sql`select from ${raw(place.table)} t where ${column(place.key)} = ${key} limit 0`
  try {
    await connection.query(query.text, query.values)
    return true
  } catch (error) {
    if (sqlstate(error)?.startsWith('22') === true) return false
    throw error
  }
}

/** Reads a row with its state; locked, it stays as it is until the transaction ends. Undefined: there is none. */
export async function readState(
  connection: Connection,
  place: StatePlace,
  { key, locked = false }: { key: string; locked?: boolean },
): Promise<RowInState | undefined> {
  const query = sql`
    select ${column(place.key)}::text as sluice_key, ${column(place.state)}::text as sluice_state,
      extract(epoch from ${column(place.changedAt)})::text as sluice_entered, t.*
    from ${raw(place.table)} t
    where ${column(place.key)} = ${key}
    ${locked ? raw('for update') : empty}`
  const [found] = await rowsOf(connection, query)
  if (found === undefined) return undefined
  const { sluice_key: text, sluice_state: state, sluice_entered: entered, ...row } = found
  return { row, key: text as string, state: String(state), entered: String(entered) }
}

/**
 * What became of a transition: the row is moved, it was not in the state that it should leave, or it is still in that
 * state because the database did not make the update.
 */
type Moved = 'moved' | 'elsewhere' | 'cancelled'

/**
 * Moves a row from one state to another, if it is still in the first one. The row is read again, because the count of an
 * update does not prove that it moved: a trigger can keep the old state, and a rule can update another table instead.
 */
export async function moveState(
  connection: Connection,
  place: StatePlace,
  { key, from, to }: { key: string; from: string; to: string },
): Promise<Moved> {
  const [state, changedAt] = [raw(quote(place.state)), raw(quote(place.changedAt))]
  const query = sql`
    update ${raw(place.table)}
    set ${state} = ${to}, ${changedAt} = clock_timestamp()
    where ${raw(quote(place.key))} = ${key} and ${state} = ${from}`
  const { rowCount } = await connection.query(query.text, query.values)
  const still = sql`select from ${raw(place.table)} t
    where ${column(place.key)} = ${key} and ${column(place.state)}::text = ${from}`
  if ((await connection.query(still.text, still.values)).rows.length > 0) return 'cancelled'
  return rowCount === 1 ? 'moved' : 'elsewhere'
}

function column(name: string): Sql {
  return raw(`t.${quote(name)}`)
}

/** A key that cannot be one of the column's type is the key of no row. */
async function rowsOf(connection: Connection, query: Sql): Promise<Record<string, unknown>[]> {
  try {
    return (await connection.query(query.text, query.values)).rows
  } catch (error) {
    if (sqlstate(error)?.startsWith('22') === true) return []
    throw error
  }
}
