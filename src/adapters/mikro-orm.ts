import type { Connection, Result } from '../store/connection.ts'
import { fromKnex, type KnexTransaction } from './knex.ts'
import { outside } from './outside.ts'

/** The entity manager that `em.transactional` of MikroORM gives. */
export interface MikroOrmEntities {
  getTransactionContext(): unknown
}

/**
 * A transaction of MikroORM 6, which is one of Knex.
 *
 * @example
 * ```ts
 * await orm.em.transactional((em) => sluice.jobs.enqueue(sendReceipt, { orderId }, { tx: fromMikroOrm(em) }))
 * ```
 */
export function fromMikroOrm(em: MikroOrmEntities): Connection {
  const transaction = em.getTransactionContext() as KnexTransaction | undefined
  if (transaction === undefined) throw outside('fromMikroOrm', 'em.transactional')
  const knex = fromKnex(transaction)
  return {
    async query(text, values) {
      if (values.length > 0) return knex.query(text, values)
      // MikroORM changes Knex: a text without values is then sent as it is, escapes and all.
      const { rows, rowCount } = (await transaction.raw(text)) as Result
      return { rows, rowCount }
    },
  }
}
