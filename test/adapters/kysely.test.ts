import { CamelCasePlugin, Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { fromKysely } from '../../src/adapters/index.ts'
import { describeConnection, type Library } from '../contracts/connection.ts'

interface Tables {
  orders: { id: number }
}

const open =
  (plugins: CamelCasePlugin[]) =>
  (url: string): Library => {
    const dialect = new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: 2 }) })
    const db = new Kysely<Tables>({ dialect, plugins })
    return {
      transaction: (work) =>
        db.transaction().execute((trx) =>
          work({
            tx: fromKysely(trx),
            addOrder: (id) => trx.insertInto('orders').values({ id }).execute(),
            run: (text) => sql.raw(text).execute(trx),
          }),
        ),
      // @ts-expect-error what is not a transaction says so in its type
      outside: async () => fromKysely(db),
      [Symbol.asyncDispose]: () => db.destroy(),
    }
  }

describeConnection('a transaction of Kysely', open([]))
describeConnection('a transaction of Kysely with a plugin', open([new CamelCasePlugin()]))
