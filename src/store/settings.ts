/**
 * The settings of a session that our statements count on.
 *
 * A database and a role can carry settings of their own (`alter role … set …`), and every session begins with them. Ours
 * decide about correctness, so they are set anew: once for a direct connection, in each transaction behind a pooler.
 * The time zone and the search path stay as they are. They belong to the statements of users, and ours work with any.
 *
 * Two examples. The isolation level decides whether a claim is right. The formats of dates, floats and strings decide
 * whether a key is right, because keys are text.
 */
import type { Connection, Result, Timeouts } from './connection.ts'

/** How our texts of keys and our SQL are read and written. In which order you write day and month stays as it is. */
const forms = {
  // The driver reads no other form.
  DateStyle: 'ISO',
  IntervalStyle: 'postgres',
  // Keys are kept as text: a float with fewer digits is another key.
  extra_float_digits: '1',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  // Plans and definitions are searched for names.
  quote_all_identifiers: 'off',
} as const

const needed = {
  // Claims and counts wait for a lock and then look again. An older snapshot would still show what is over.
  default_transaction_isolation: 'read committed',
  ...forms,
  // A session that listens, or waits for the next renewal, is idle for long.
  idle_session_timeout: '0',
  // Compiling a plan takes longer than all of our statements do, and a server takes one for expensive by the first row
  // that it cannot know.
  jit: 'off',
} as const

/** What the server says of a session: whether it can write, and whether that is because it is a standby. */
export interface SessionState {
  read_only: 'on' | 'off'
  standby: boolean
  /** How the database stores texts: `UTF8` has every character. */
  encoding: string
}

/**
 * Statements that set limits and all that is needed, for the transaction only or for the whole session. The last one
 * gives the {@link SessionState}. The first one takes a limit off that may be too short for the second.
 */
export function settingsText(timeouts: Timeouts, local: boolean): string {
  const all = Object.entries({ ...limitsOf(timeouts), ...needed }).map(([name, value]) => setting(name, value, local))
  return `set ${local ? 'local' : 'session'} statement_timeout = 0;
    select ${all.join(', ')},
      case when current_setting('transaction_timeout', true) is not null
        then ${setting('transaction_timeout', '0', local)} end,
      current_setting('transaction_read_only') as read_only, pg_is_in_recovery() as standby,
      current_setting('server_encoding') as encoding`
}

/** What the last of these statements gave: of several in one text `pg` gives a list of results. */
export function stateOf(results: unknown): SessionState {
  return (results as Result<SessionState>[]).at(-1)?.rows[0] ?? { read_only: 'off', standby: false, encoding: 'UTF8' }
}

/** The statement that sets the limits of one transaction. */
export function limitsText(timeouts: Timeouts): string {
  const all = Object.entries(limitsOf(timeouts)).map(([name, value]) => setting(name, value, true))
  return `select ${all.join(', ')}`
}

function limitsOf({ statementMs, lockMs, idleInTransactionMs }: Timeouts): Record<string, string> {
  return {
    statement_timeout: `${statementMs}`,
    lock_timeout: `${lockMs}`,
    idle_in_transaction_session_timeout: `${idleInTransactionMs}`,
  }
}

function setting(name: string, value: string, local: boolean): string {
  return `set_config('${name}', '${value}', ${local})`
}

/** Asks something in a transaction of the caller's, under our forms; afterwards the session has its own ones again. */
export async function underOurForms<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  const names = Object.keys(forms) as (keyof typeof forms)[]
  const set = async (values: readonly string[]): Promise<void> => {
    const calls = names.map((name, i) => `set_config('${name}', $${i + 1}, true)`)
    await connection.query(`select ${calls.join(', ')}`, [...values])
  }
  const asked = names.map((name) => `current_setting('${name}')`)
  // As one text under one word: a library of the caller's may give columns other names, and read arrays its own way.
  const { rows } = await connection.query(`select json_build_array(${asked.join(', ')})::text as theirs`, [])
  const theirs = JSON.parse(String(rows[0]?.['theirs'])) as string[]
  await set(Object.values(forms))
  try {
    return await work()
  } finally {
    // After an error of the server the transaction takes nothing more, and its end brings the settings back.
    await set(theirs).catch(() => undefined)
  }
}
