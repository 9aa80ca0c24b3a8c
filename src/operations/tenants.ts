import { SluiceError } from '../errors.ts'
import { recordAct, type Who } from '../store/audit.ts'
import type { Database } from '../store/database.ts'
import * as tenants from '../store/tenants.ts'

/** A tenant's unfinished operations, to be taken in by another database. Plain JSON. */
export interface TenantExport {
  version: 1
  tenant: string
  operations: tenants.MovedOperation[]
}

/** What became of an import. */
export interface TenantImport {
  /** Operations that were taken in. */
  imported: string[]
  /** Operations that were left out, because they, or equal unfinished ones, are here already. */
  present: string[]
}

/** Moves the unfinished operations of a tenant from one database to another. */
export class Tenants {
  readonly #database: () => Promise<Database>

  constructor(database: () => Promise<Database>) {
    this.#database = database
  }

  /**
   * Ends a tenant's operations here, at once and at their checkpoints, and gives what another database needs to go on.
   * What is given stays in this database's history, too. System operations belong to no tenant and stay.
   *
   * @example
   * ```ts
   * const moved = await here.tenants.export('acme')
   * await there.tenants.import(moved)
   * ```
   */
  async export(tenant: string, who: Who = {}): Promise<TenantExport> {
    if (typeof tenant !== 'string' || tenant === '' || tenant.includes('\0')) throw invalid('the tenant needs a name')
    const { control } = await this.#database()
    return control.transaction(async (transaction) => {
      await tenants.lock(transaction, { tenant })
      const operations = await tenants.read(transaction, { tenant })
      await tenants.leave(transaction, { tenant, actor: who.actor ?? null })
      const before = { operations: operations.length }
      await recordAct(transaction, who, { action: 'tenant.export', target: tenant, before })
      return { version: 1, tenant, operations }
    })
  }

  /** Takes in what {@link Tenants.export} gave: all of it, or nothing when it is not that. */
  async import(moved: unknown, who: Who = {}): Promise<TenantImport> {
    const { tenant, operations } = checked(moved)
    const { control } = await this.#database()
    const arrived = await control.transaction(async (transaction) => {
      const results: { id: string; created: boolean }[] = []
      for (const operation of operations) results.push(...(await tenants.arrive(transaction, operation)))
      const after = { operations: results.filter(({ created }) => created).length }
      await recordAct(transaction, who, { action: 'tenant.import', target: tenant, after })
      return results
    })
    const ids = (created: boolean): string[] => arrived.filter((a) => a.created === created).map(({ id }) => id)
    return { imported: ids(true), present: ids(false) }
  }
}

function checked(moved: unknown): TenantExport {
  const given = moved as Partial<TenantExport> | null
  if (typeof given !== 'object' || given === null) throw invalid('it is not what an export gives')
  const { version, tenant, operations } = given
  if (version !== 1) throw invalid(`its version is ${JSON.stringify(version)}, and this release reads version 1`)
  if (typeof tenant !== 'string' || !Array.isArray(operations)) throw invalid('it is not what an export gives')
  for (const { operation, batches, quarantine } of operations) {
    const whole = typeof operation === 'object' && Array.isArray(batches) && Array.isArray(quarantine)
    if (!whole || operation['tenant'] !== tenant) throw invalid('an operation in it is damaged or of another tenant')
  }
  return { version, tenant, operations }
}

function invalid(problem: string): SluiceError {
  return new SluiceError('ARGS_INVALID', {
    message: `The operations of the tenant cannot be moved: ${problem}. Give what "sluice tenants export" wrote, unchanged.`,
    details: { problem },
  })
}
