import type { Connection } from '../store/connection.ts'
import { plainValues } from './array-literal.ts'
import { outside } from './outside.ts'

/** The entity manager that `dataSource.transaction` of TypeORM gives. */
export interface TypeormEntities {
  readonly queryRunner?:
    | {
        readonly isTransactionActive: boolean
        query(text: string, values: unknown[], structured: true): Promise<{ records: unknown[]; affected?: number }>
      }
    | undefined
}

/**
 * A transaction of TypeORM, on PostgreSQL.
 *
 * @example
 * ```ts
 * await dataSource.transaction((manager) =>
 *   sluice.jobs.enqueue(sendReceipt, { orderId }, { tx: fromTypeorm(manager) }),
 * )
 * ```
 */
export function fromTypeorm(manager: TypeormEntities): Connection {
  const { queryRunner } = manager
  if (queryRunner?.isTransactionActive !== true) throw outside('fromTypeorm', 'dataSource.transaction')
  return {
    async query(text, values) {
      try {
        const { records, affected = null } = await queryRunner.query(text, plainValues(values), true)
        return { rows: records as Record<string, unknown>[], rowCount: affected }
      } catch (error) {
        throw error instanceof Error && 'driverError' in error ? error.driverError : error
      }
    },
  }
}
