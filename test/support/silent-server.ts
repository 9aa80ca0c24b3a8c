import type { TestDatabase } from './database.ts'

/** What hosted servers refuse, with the type that each gives. */
const refused = [
  ['pg_current_wal_lsn()', 'pg_lsn'],
  ['pg_current_wal_insert_lsn()', 'pg_lsn'],
  ['pg_current_wal_flush_lsn()', 'pg_lsn'],
  ['pg_last_wal_replay_lsn()', 'pg_lsn'],
  ['pg_control_system()', 'record'],
] as const

/**
 * Makes a database of a test one that tells nothing about its log: functions of the server raise an error of the server
 * (55000, 0A000) or may not be executed (42501). The server calls its own functions by number, so they are renamed, and
 * others take their names.
 */
export async function silence(db: TestDatabase, code: '55000' | '0A000' | '42501'): Promise<void> {
  for (const [signature, type] of refused) {
    if (code === '42501') {
      await db.query(`revoke execute on function pg_catalog.${signature} from public`)
      continue
    }
    const [name = ''] = signature.split('(')
    await db.query(`alter function pg_catalog.${signature} rename to ${name}_of_old`)
    await db.query(`create function pg_catalog.${signature} returns ${type} language plpgsql as $$
      begin raise exception '${name} is not supported by this server' using errcode = '${code}'; end $$`)
  }
}
