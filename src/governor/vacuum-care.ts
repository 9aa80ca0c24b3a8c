import type { Database } from '../store/database.ts'
import { Pool } from '../store/pool.ts'
import { keepSetting, keepsSettings, noteSetting, takeSetting } from '../store/table-settings.ts'
import { setTruncation, truncationOf, vacuumRights, vacuumTable } from '../targets/vacuum.ts'

/** How an operation and vacuum get along. */
export interface VacuumOptions {
  /** The share of dead rows at which the operation stops until vacuum has caught up; it slows from half of that. */
  deadRows?: number
  /** Vacuum the table ourselves after so many changed rows, where the role may. */
  every?: number
  /** False: vacuum does not cut off the end of the table while the operation runs, where the role may say so. */
  truncate?: boolean
}

interface Deps {
  database: Database
  warn: (what: string, error: unknown) => void
}

/** What is known of one table. */
interface Care {
  changed: number
  vacuuming: boolean
  /** The operation for which its end is kept. */
  keptFor: string | undefined
  /** The role may not: said once, and left alone. */
  refused: boolean
}

/**
 * Looks after tables while operations change them: vacuum steps of our own, and no truncation meanwhile, which takes a
 * lock that nobody gets past and that replicas replay. What a table said before is written down in the transaction that
 * changes it, so that any worker can put it back, also after a crash.
 */
export class VacuumCare {
  readonly #deps: Deps
  readonly #tables = new Map<string, Care>()
  #pool: Pool | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Counts rows that were changed, and begins to vacuum in the background when there are enough of them. */
  changed(table: string, rows: number, every: number | undefined): void {
    if (every === undefined) return
    const care = this.#careOf(table)
    care.changed += rows
    if (care.changed < every || care.vacuuming || care.refused) return
    care.changed = 0
    care.vacuuming = true
    void this.#vacuum(table, care).finally(() => (care.vacuuming = false))
  }

  /** Keeps vacuum from cutting off the end of a table, for an operation. */
  async keepEnd(table: string, operationId: string): Promise<void> {
    const care = this.#careOf(table)
    if (care.keptFor === operationId || care.refused) return
    const { control, work } = this.#deps.database
    const { owner } = await vacuumRights(control, table)
    if (!owner) return this.#refuse(care, `vacuum_truncate of ${table} is for its owner to change`)
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
    care.keptFor = operationId
  }

  /** Puts back what tables said before, where no operation walks them any more. */
  async restore(): Promise<void> {
    const { control, work } = this.#deps.database
    const [any] = await keepsSettings(control)
    if (any?.kept !== true) return
    await work.transaction(
      async (transaction) => {
        const [taken] = await takeSetting(transaction)
        if (taken === undefined) return
        await setTruncation(transaction, taken.table_name, taken.previous)
        this.#tables.delete(taken.table_name)
      },
      { lockMs: 200 },
    )
  }

  async close(): Promise<void> {
    await this.#pool?.end()
  }

  async #vacuum(table: string, care: Care): Promise<void> {
    try {
      const { vacuum } = await vacuumRights(this.#deps.database.control, table)
      if (!vacuum) return this.#refuse(care, `this role may not vacuum ${table}: grant maintain on ${table} to it`)
      const pool = this.#connection()
      await vacuumTable({ query: (text, values) => pool.alone(text, values) }, table)
    } catch (error) {
      this.#deps.warn(`could not vacuum ${table}`, error)
    }
  }

  #connection(): Pool {
    const { options, pooled } = this.#deps.database
    const timeouts = { statementMs: 3_600_000, lockMs: 1_000, idleInTransactionMs: 5_000 }
    this.#pool ??= new Pool({ ...options, purpose: 'vacuum', size: 1, pooled, timeouts })
    return this.#pool
  }

  #refuse(care: Care, reason: string): void {
    // Two may have asked for their rights at the same moment.
    if (care.refused) return
    care.refused = true
    this.#deps.warn('leaves vacuum as it is', new Error(reason))
  }

  #careOf(table: string): Care {
    const care = this.#tables.get(table) ?? { changed: 0, vacuuming: false, keptFor: undefined, refused: false }
    this.#tables.set(table, care)
    return care
  }
}
