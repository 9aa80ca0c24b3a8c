import type { Upkeep } from '../targets/upkeep.ts'

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
  upkeep: Upkeep
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
    const { upkeep } = this.#deps
    const { owner } = await upkeep.rights(table)
    if (!owner) return this.#refuse(care, `vacuum_truncate of ${table} is for its owner to change`)
    await upkeep.keepEnd(table)
    care.keptFor = operationId
  }

  /** Puts back what tables said before, where no operation walks them any more. */
  async restore(): Promise<void> {
    const table = await this.#deps.upkeep.restoreEnd()
    if (table !== undefined) this.#tables.delete(table)
  }

  async close(): Promise<void> {
    await this.#deps.upkeep.close()
  }

  async #vacuum(table: string, care: Care): Promise<void> {
    try {
      const { upkeep } = this.#deps
      const { vacuum } = await upkeep.rights(table)
      if (!vacuum) return this.#refuse(care, `this role may not vacuum ${table}: grant maintain on ${table} to it`)
      await upkeep.vacuum(table)
    } catch (error) {
      this.#deps.warn(`could not vacuum ${table}`, error)
    }
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
