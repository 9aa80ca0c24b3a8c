import type { Database } from '../../store/database.ts'

const last = new WeakMap<Database, Promise<unknown>>()

/**
 * Lets one run at a time be started on a database. Whoever starts one is in a transaction on one of the few connections
 * for our own statements, and its checks need others of them: as many at once as there are connections would wait for
 * each other.
 */
export function inTurn<T>(database: Database, start: () => Promise<T>): Promise<T> {
  const mine = (last.get(database) ?? Promise.resolve()).then(start)
  last.set(
    database,
    mine.catch(() => undefined),
  )
  return mine
}
