import type { Connection } from '../store/connection.ts'
import { plainValues } from './array-literal.ts'
import { outside } from './outside.ts'
import { cutAtPlaceholders } from './placeholders.ts'

/** What `db.transaction` of Drizzle gives, with any of its PostgreSQL drivers. */
export interface DrizzleTransaction {
  /** Only a transaction has it. */
  rollback: unknown
  execute(query: never): PromiseLike<unknown>
}

/** The tag `sql` of `drizzle-orm`. */
export interface DrizzleSql {
  raw(text: string): unknown
  param(value: unknown): unknown
  join(chunks: never[]): unknown
}

/**
 * A transaction of Drizzle. Give its `sql` tag along: it is the one way to make a query that Drizzle accepts.
 *
 * @example
 * ```ts
 * import { sql } from 'drizzle-orm'
 *
 * await db.transaction((tx) => sluice.jobs.enqueue(sendReceipt, { orderId }, { tx: fromDrizzle(tx, sql) }))
 * ```
 */
export function fromDrizzle(tx: DrizzleTransaction, sql: DrizzleSql): Connection {
  if (typeof tx.rollback !== 'function') throw outside('fromDrizzle', 'db.transaction')
  return {
    async query(text, given) {
      const { texts, values } = cutAtPlaceholders(text, plainValues(given))
      const chunks = texts.flatMap((piece, i) => [...(i === 0 ? [] : [sql.param(values[i - 1])]), sql.raw(piece)])
      try {
        const found = (await tx.execute(sql.join(chunks as never[]) as never)) as Found
        const rows = Array.isArray(found) ? [...found] : found.rows
        return { rows, rowCount: rows.length }
      } catch (error) {
        throw error instanceof Error && error.cause instanceof Error ? error.cause : error
      }
    },
  }
}

/** Some drivers give the rows, others a result that has them. */
type Found = Record<string, unknown>[] | { rows: Record<string, unknown>[] }
