/**
 * The standstill: one row that says that no operation works.
 *
 * Every fence reads it, so it holds from the next sub-batch on, in whatever process; nobody takes up work while it is
 * there. What runs is given back at its checkpoint. It is a row and no state of operations: when it ends, each is where
 * it was, also those that a person has paused. Workers may read it only. A crash of whoever said it changes nothing.
 */
import { SluiceError } from '../errors.ts'
import type { Database } from '../store/database.ts'
import { endStandstill, stopAll, type Standstill } from '../store/standstill.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'

interface Deps {
  database: Database
  telemetry: Telemetry
}

/** Stops all work on operations in this database. */
export async function disableAll(
  { database: { control }, telemetry }: Deps,
  about: { reason: string | null; actor: string | null },
): Promise<Standstill> {
  const [standstill] = await allowed(control.schema, () => stopAll(control, about))
  if (standstill === undefined) throw new Error('the standstill was not recorded')
  telemetry.emit('operations.disabled', about)
  return standstill
}

/** Lets it go on; false: there was no standstill. */
export async function enableAll(
  { database: { control }, telemetry }: Deps,
  { actor }: { actor: string | null },
): Promise<boolean> {
  const [ended] = await allowed(control.schema, () => endStandstill(control))
  if (ended !== undefined) telemetry.emit('operations.enabled', { actor })
  return ended !== undefined
}

async function allowed<T>(schema: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!(error instanceof SluiceError && error.code === 'PERMISSION_DENIED')) throw error
    throw new SluiceError('PERMISSION_DENIED', {
      message: `This account may not disable or enable all operations. Use one that may, or let an administrator run: grant select, insert, update, delete on ${schema}.standstill to <account>;`,
      details: { table: `${schema}.standstill` },
      cause: error,
    })
  }
}
