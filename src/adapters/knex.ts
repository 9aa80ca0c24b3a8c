import type { Connection, Result } from '../store/connection.ts'
import { plainValues } from './array-literal.ts'
import { outside } from './outside.ts'
import { cutAtPlaceholders } from './placeholders.ts'

/** What `knex.transaction` gives. */
export interface KnexTransaction {
  /** Only a transaction has it. */
  isCompleted: unknown
  raw(text: string, values?: never[]): PromiseLike<unknown>
}

/**
 * A transaction of Knex, on PostgreSQL.
 *
 * @example
 * ```ts
 * await knex.transaction((trx) => sluice.jobs.enqueue(sendReceipt, { orderId }, { tx: fromKnex(trx) }))
 * ```
 */
export function fromKnex(trx: KnexTransaction): Connection {
  if (typeof trx.isCompleted !== 'function') throw outside('fromKnex', 'knex.transaction')
  return {
    async query(text, given) {
      const { texts, values } = cutAtPlaceholders(text, plainValues(given))
      // A question mark is a placeholder here, unless it is escaped.
      const escaped = texts.map((piece) => piece.replaceAll('?', String.raw`\?`)).join('?')
      const { rows, rowCount } = (await trx.raw(escaped, values as never[])) as Result
      return { rows, rowCount }
    },
  }
}
