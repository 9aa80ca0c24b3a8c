import knex from 'knex'
import { fromKnex } from '../../src/adapters/index.ts'
import { describeConnection } from '../contracts/connection.ts'

describeConnection('a transaction of Knex', (url) => {
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max: 2 } })
  return {
    transaction: (work) =>
      db.transaction((trx) =>
        work({
          tx: fromKnex(trx),
          addOrder: (id) => trx('orders').insert({ id }),
          run: async (text) => trx.raw(text),
        }),
      ),
    // @ts-expect-error what is not a transaction is never completed
    outside: async () => fromKnex(db),
    [Symbol.asyncDispose]: () => db.destroy(),
  }
})
