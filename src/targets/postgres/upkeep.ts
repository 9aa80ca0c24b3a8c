import type { Database } from '../../store/database.ts'
import { Pool } from '../../store/pool.ts'
import { keepSetting, keepsSettings, noteSetting, takeSetting } from '../../store/table-settings.ts'
import type { Upkeep } from '../upkeep.ts'
import { setTruncation, truncationOf, vacuumRights, vacuumTable } from './vacuum.ts'

/** Vacuum runs for long, on a connection of its own that is opened when it is needed. */
const timeouts = { statementMs: 3_600_000, lockMs: 1_000, idleInTransactionMs: 5_000 }

export function postgresUpkeep({ control, work, options, pooled }: Database): Upkeep {
  let pool: Pool | undefined
  return {
    rights: async (table) => vacuumRights(control, table),
    async vacuum(table) {
      const open = (pool ??= new Pool({ ...options, purpose: 'vacuum', size: 1, pooled, timeouts }))
      await vacuumTable({ query: (text, values) => open.alone(text, values) }, table)
    },
    async keepEnd(table) {
      await work.transaction(
        async (transaction) => {
          // Who finds the place taken finds the table changed, too: both commit together.
          const [place] = await keepSetting(transaction, { table })
          if (place === undefined) return
          await noteSetting(transaction, { table, previous: await truncationOf(transaction, table) })
          await setTruncation(transaction, table, 'false')
        },
        { lockMs: 200 },
      )
    },
    async restoreEnd() {
      const [any] = await keepsSettings(control)
      if (any?.kept !== true) return undefined
      return work.transaction(
        async (transaction) => {
          const [taken] = await takeSetting(transaction)
          if (taken === undefined) return undefined
          await setTruncation(transaction, taken.table_name, taken.previous)
          return taken.table_name
        },
        { lockMs: 200 },
      )
    },
    close: async () => pool?.end(),
  }
}
