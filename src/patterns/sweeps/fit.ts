import type { StoreConnection } from '../../store/connection.ts'
import { checkSwept } from '../../targets/postgres/swept-check.ts'
import { resolveSweptTable, type SweptTable } from '../../targets/postgres/swept-table.ts'
import type { SweepDefinition } from './definition.ts'

/** Finds the table of a sweep, and refuses a definition with which it could not be worked on. */
export async function fit(connection: StoreConnection, definition: SweepDefinition): Promise<SweptTable> {
  const swept = await resolveSweptTable(connection, definition.names)
  await checkSwept(connection, swept, definition)
  return swept
}
