import { DataSource } from 'typeorm'
import { fromTypeorm } from '../../src/adapters/index.ts'
import { describeConnection } from '../contracts/connection.ts'

describeConnection('a transaction of TypeORM', async (url) => {
  const dataSource = await new DataSource({ type: 'postgres', url, poolSize: 2 }).initialize()
  return {
    transaction: (work) =>
      dataSource.transaction((manager) =>
        work({
          tx: fromTypeorm(manager),
          addOrder: (id) => manager.createQueryBuilder().insert().into('orders', ['id']).values({ id }).execute(),
          run: (text) => manager.query(text),
        }),
      ),
    outside: async () => fromTypeorm(dataSource.manager),
    [Symbol.asyncDispose]: () => dataSource.destroy(),
  }
})
