import type { Connection } from '../store/connection.ts'
import { plainValues } from './array-literal.ts'
import { outside } from './outside.ts'

/** What `sql.begin` of postgres.js gives. */
export interface PostgresJsTransaction {
  /** Only a transaction has savepoints. */
  savepoint: unknown
  unsafe(text: string, values: never[]): PromiseLike<readonly unknown[] & { count: number | null }>
}

/**
 * A transaction of postgres.js.
 *
 * @example
 * ```ts
 * await sql.begin((tx) => sluice.jobs.enqueue(sendReceipt, { orderId }, { tx: fromPostgresJs(tx) }))
 * ```
 */
export function fromPostgresJs(tx: PostgresJsTransaction): Connection {
  if (typeof tx.savepoint !== 'function') throw outside('fromPostgresJs', 'sql.begin')
  return {
    async query(text, values) {
      const found = await tx.unsafe(text, plainValues(values) as never[])
      return { rows: [...found] as Record<string, unknown>[], rowCount: found.count }
    },
  }
}
