import type { TestDatabase } from './database.ts'

/** Whether a session of this database waits for a lock, with a statement that looks like this. */
export async function isWaiting(db: TestDatabase, like = '%'): Promise<boolean> {
  return db.value(
    `select exists (select from pg_stat_activity where datname = current_database()
       and backend_type = 'client backend' and wait_event_type = 'Lock' and query ilike $1)`,
    [like],
  )
}
