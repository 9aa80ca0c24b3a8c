import type { TestDatabase } from './database.ts'
import { until } from './wait.ts'

/** Whether a session of this database waits for a lock, with a statement that looks like this. */
export async function isWaiting(db: TestDatabase, like = '%'): Promise<boolean> {
  return db.value(
    `select exists (select from pg_stat_activity where datname = current_database()
       and backend_type = 'client backend' and wait_event_type = 'Lock' and query ilike $1)`,
    [like],
  )
}

/** Waits until the work is over, or a session waits for a lock; tells which. */
export async function overOrWaiting(db: TestDatabase, work: Promise<unknown>): Promise<'over' | 'waiting'> {
  let over = false
  const end = (): void => void (over = true)
  work.then(end, end)
  await until('it is over or waits for a lock', async () => over || (await isWaiting(db)))
  return over ? 'over' : 'waiting'
}
