import { SluiceError } from '../errors.ts'
import { recordAct, type Who } from '../store/audit.ts'
import type { StoreConnection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import { sqlstate } from '../store/sqlstate.ts'
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
    const results = await control.transaction(async (transaction) => {
      const rows: { id: string; created: boolean }[] = []
      for (const operation of operations) rows.push(...(await arrived(transaction, operation)))
      const after = { operations: rows.filter(({ created }) => created).length }
      await recordAct(transaction, who, { action: 'tenant.import', target: tenant, after })
      return rows
    })
    const ids = (created: boolean): string[] => results.filter((row) => row.created === created).map(({ id }) => id)
    return { imported: ids(true), present: ids(false) }
  }
}

function checked(moved: unknown): TenantExport {
  const given = moved as Partial<TenantExport> | null
  if (typeof given !== 'object' || given === null) throw invalid('it is not what an export gives')
  const { version, tenant, operations } = given
  if (version !== 1) throw invalid(`its version is ${JSON.stringify(version)}, and this release reads version 1`)
  if (typeof tenant !== 'string' || !Array.isArray(operations)) throw invalid('it is not what an export gives')
  for (const one of operations)
    if (!isWhole(one, tenant)) throw invalid('an operation in it is damaged or of another tenant')
  return { version, tenant, operations }
}

function isWhole(moved: unknown, tenant: string): boolean {
  if (!isRecord(moved) || !isRecord(moved['operation'])) return false
  const { operation, batches, quarantine } = moved
  if (operation['tenant'] !== tenant || !Array.isArray(batches) || !Array.isArray(quarantine)) return false
  return [...batches, ...quarantine].every((part) => isRecord(part) && part['operation_id'] === operation['id'])
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Takes one operation in. What the database says of values that no export has written is no news to who imports it. */
async function arrived(
  transaction: StoreConnection,
  moved: tenants.MovedOperation,
): Promise<{ id: string; created: boolean }[]> {
  try {
    return await tenants.arrive(transaction, moved)
  } catch (error) {
    if (!/^(22|23)/.test(sqlstate(error) ?? '')) throw error
    throw invalid(`an operation in it is damaged: ${(error as Error).message}`, error)
  }
}

function invalid(problem: string, cause?: unknown): SluiceError {
  return new SluiceError('ARGS_INVALID', {
    message: `The operations of the tenant cannot be moved: ${problem}. Give what "sluice tenants export" wrote, unchanged.`,
    details: { problem },
    cause,
  })
}
