import type { Connection } from '../store/connection.ts'
import { plainValues } from './array-literal.ts'
import { outside } from './outside.ts'

/** What `db.transaction().execute` of Kysely gives. */
export interface KyselyTransaction {
  readonly isTransaction: true
  executeQuery(query: RawQuery): Promise<{ readonly rows: readonly unknown[]; readonly numAffectedRows?: bigint }>
}

/** A compiled query of Kysely that is nothing but text and values. */
interface RawQuery {
  readonly sql: string
  readonly parameters: readonly unknown[]
  readonly query: {
    readonly kind: 'RawNode'
    readonly sqlFragments: readonly string[]
    readonly parameters: readonly []
  }
  readonly queryId: { readonly queryId: string }
}

/**
 * A transaction of Kysely.
 *
 * @example
 * ```ts
 * await db.transaction().execute((trx) => sluice.jobs.enqueue(sendReceipt, { orderId }, { tx: fromKysely(trx) }))
 * ```
 */
export function fromKysely(trx: KyselyTransaction): Connection {
  if (!trx.isTransaction) throw outside('fromKysely', 'db.transaction().execute')
  return {
    async query(sql, values) {
      const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as const
      // Plugins remember queries by this object.
      const queryId = { queryId: 'sluice' }
      const found = await trx.executeQuery({ sql, parameters: plainValues(values), query, queryId })
      const { rows, numAffectedRows = rows.length } = found
      return { rows: [...rows] as Record<string, unknown>[], rowCount: Number(numAffectedRows) }
    },
  }
}
