/**
 * The standstill: one row that says that no operation works.
 *
 * Every fence reads it, so it holds from the next sub-batch on, in whatever process; nobody takes up work while it is
 * there. What runs is given back at its checkpoint. It is a row and no state of operations: when it ends, each is where
 * it was, also those that a person has paused. Workers may read it only. A crash of whoever said it changes nothing.
 */
import { SluiceError } from '../errors.ts'
import { audited } from '../store/audit.ts'
import { refuseStale, type Seen, type Switch } from '../store/expected.ts'
import { endStandstill, stopAll, type Standstill } from '../store/standstill.ts'
import type { Switching } from './switches.ts'

/** What is switched here, in words. */
const all = 'Work on operations'

/** Stops all work on operations in this database. */
export async function disableAll({ database, telemetry }: Switching, options: Seen<Switch>): Promise<Standstill> {
  const about = { reason: options.reason ?? null, actor: options.actor ?? null }
  const standstill = await allowed(database.control.schema, () =>
    audited(database, options, async (tx) => {
      const [stopped] = await stopAll(tx, about)
      const { again = false, ...result } = stopped ?? {}
      refuseStale(all, again ? 'disabled' : 'enabled', options)
      const states = { before: { enabled: !again }, after: { enabled: false } }
      return { result: result as Standstill, act: { action: 'operations.disable', target: 'all', ...states } }
    }),
  )
  telemetry.emit('operations.disabled', about)
  return standstill
}

/** Lets it go on; false: there was no standstill. */
export async function enableAll({ database, telemetry }: Switching, options: Seen<Switch>): Promise<boolean> {
  const ended = await allowed(database.control.schema, () =>
    audited(database, options, async (tx) => {
      const [result] = await endStandstill(tx)
      refuseStale(all, result === undefined ? 'enabled' : 'disabled', options)
      const act = { action: 'operations.enable', target: 'all', before: { enabled: false }, after: { enabled: true } }
      return { result, act: result && act }
    }),
  )
  if (ended !== undefined) telemetry.emit('operations.enabled', { actor: options.actor ?? null })
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
