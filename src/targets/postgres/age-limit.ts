import type { Sql } from 'sql-template-tag'
import type { Connection } from '../../store/connection.ts'
import type { BatchFacts } from '../target.ts'
import { isBefore, momentBefore } from './age.ts'
/**
 * The scope as rows are held against it. An age is subtracted once, not for each row: the server does that anew for
 * each, as it depends on the time zone, and it takes longer than all else that is done to a row which is not in scope.
 */
export async function settledScope(
  connection: Connection,
  { changes: { aged }, bound, startedAt }: Pick<BatchFacts, 'changes' | 'bound' | 'startedAt'>,
): Promise<Sql | undefined> {
  if (aged === undefined) return bound.scope(startedAt)
  return isBefore(aged.by, await momentBefore(connection, startedAt, aged), aged.zone)
}
