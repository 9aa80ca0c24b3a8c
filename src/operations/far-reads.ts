import type { Connection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import type { BatchRun } from './batch-run.ts'
import type { OperationDefinition } from './definition.ts'
import type { SubBatchWork } from './sub-batch.ts'

/** A look ahead takes no longer; a replica that does is not worth the wait. */
const mostMs = 2_000

type Reads = Pick<OperationDefinition, 'reads'>

/**
 * Looks for the next cut on a replica, where the definition allows it. It shows all that was committed when this was
 * asked, so "nothing left" means there what it means on the primary. Undefined: look for it there.
 */
export async function carveFar<T>(
  { replica, control }: Pick<Database, 'replica' | 'control'>,
  { reads }: Reads,
  { cut, limitMs }: { cut: (by: Connection) => Promise<T>; limitMs: number },
): Promise<{ value: T } | undefined> {
  if (reads !== 'replica' || replica === undefined) return undefined
  const since = await replica.position(control)
  return since === undefined ? undefined : replica.read(cut, { since, limitMs })
}

/** What the second pass of a batch must not miss when it looks for rows that were left. */
export async function farSince({ definition, batch, database }: BatchRun): Promise<string | undefined> {
  if (definition.reads !== 'replica' || batch.pass === 1) return undefined
  return database.replica?.position(database.control)
}

/** Reads on the replica, if it shows what must not be missed; else on the primary. */
export async function readFar<T>(
  { database, since }: Pick<SubBatchWork, 'database' | 'since'>,
  read: (by: Connection) => Promise<T>,
): Promise<T> {
  if (since === undefined || database.replica === undefined) return read(database.work)
  const limitMs = Math.min(database.options.timeouts.statementMs, mostMs)
  const far = await database.replica.read(read, { since, limitMs })
  return far === undefined ? read(database.work) : far.value
}
