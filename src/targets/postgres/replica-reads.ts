import type { Connection } from '../../store/connection.ts'
import type { Database } from '../../store/database.ts'
import type { Work } from '../work.ts'

/** A look ahead takes no longer; a replica that does is not worth the wait. */
const mostMs = 2_000

/**
 * Looks for the next cut on a replica, where the definition allows it. It shows all that was committed when this was
 * asked, so "nothing left" means there what it means on the primary. Undefined: look for it there.
 */
export async function carveFar<T>(
  { replica, control }: Pick<Database, 'replica' | 'control'>,
  { reads }: { reads: 'primary' | 'replica' },
  { cut, limitMs }: { cut: (by: Connection) => Promise<T>; limitMs: number },
): Promise<{ value: T } | undefined> {
  if (reads !== 'replica' || replica === undefined) return undefined
  const since = await replica.position(control)
  return since === undefined ? undefined : replica.read(cut, { since, limitMs })
}

/** Reads on the replica, if it shows what must not be missed; else on the primary. */
export async function readFar<T>(
  database: Database,
  { since }: Pick<Work, 'since'>,
  read: (by: Connection) => Promise<T>,
): Promise<T> {
  if (since === undefined || database.replica === undefined) return read(database.work)
  const limitMs = Math.min(database.options.timeouts.statementMs, mostMs)
  const far = await database.replica.read(read, { since, limitMs })
  return far === undefined ? read(database.work) : far.value
}
