import type { TestDatabase } from './database.ts'

/** Settings that are legal on a database or a role, and that nothing of ours may take over. Values are SQL. */
export const oddSettings = {
  default_transaction_isolation: `'repeatable read'`,
  datestyle: `'SQL, DMY'`,
  intervalstyle: `'sql_standard'`,
  extra_float_digits: `-15`,
  bytea_output: `'escape'`,
  standard_conforming_strings: `off`,
  array_nulls: `off`,
  quote_all_identifiers: `on`,
  // Its short name stands for three zones, and PostgreSQL reads another one than it writes.
  timezone: `'Asia/Kolkata'`,
  search_path: `nowhere`,
  lock_timeout: `'1ms'`,
  // Long enough for the statement that sets it anew, and no longer.
  statement_timeout: `'30ms'`,
} as const

/** Sets them for everybody in a database, or for the worker's account there. They hold for new sessions. */
export async function setOddly(
  db: TestDatabase,
  whose: 'database' | 'role',
  settings: Readonly<Record<string, string>> = oddSettings,
): Promise<void> {
  const name = await db.value<string>('select current_database()')
  const alter = whose === 'database' ? `alter database ${name}` : `alter role test_worker in database ${name}`
  // The owner looks at the outcome, and may take its time.
  await db.query(`alter role current_user in database ${name} set statement_timeout = 0`)
  for (const [setting, value] of Object.entries(settings)) await db.query(`${alter} set ${setting} = ${value}`)
}
