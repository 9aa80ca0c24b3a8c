import sql, { raw } from 'sql-template-tag'
import type { StoreConnection } from '../store/connection.ts'
import { storedWithin, type KeyWindow, type Walk } from './window.ts'

/**
 * Closes the quarantine of rows in a window that has just been processed after all, and gives their number. Here and
 * not with the other statements on that table, because only the types of the walked table can compare its keys.
 */
export async function closeQuarantined(
  connection: StoreConnection,
  { operationId, walk, window }: { operationId: string; walk: Walk; window: KeyWindow },
): Promise<number> {
  const query = sql`
    update ${raw(connection.schema)}.quarantine
    set retried_at = clock_timestamp()
    where operation_id = ${operationId}
      and retried_at is null
      and ${storedWithin(walk, 'upper_key', window)}
    returning rows`
  const { rows } = await connection.query(query.text, query.values)
  return (rows as { rows: number }[]).reduce((sum, closed) => sum + closed.rows, 0)
}
