import { EntitySchema } from '@mikro-orm/core'
import { MikroORM } from '@mikro-orm/postgresql'
import { fromMikroOrm } from '../../src/adapters/index.ts'
import { describeConnection } from '../contracts/connection.ts'

interface Order {
  id: number
}

/** Described without decorators, so that no compiler option is needed for it. */
const orders = new EntitySchema<Order>({
  name: 'Order',
  tableName: 'orders',
  properties: { id: { type: 'bigint', primary: true } },
})

describeConnection('a transaction of MikroORM', async (clientUrl) => {
  const orm = await MikroORM.init({ clientUrl, entities: [orders], pool: { min: 0, max: 2 } })
  return {
    transaction: (work) =>
      orm.em.fork().transactional((em) =>
        work({
          tx: fromMikroOrm(em),
          addOrder: (id) => em.insert(orders, { id }),
          run: (text) => em.getConnection().execute(text, [], 'all', em.getTransactionContext()),
        }),
      ),
    outside: async () => fromMikroOrm(orm.em.fork()),
    [Symbol.asyncDispose]: () => orm.close(),
  }
})
