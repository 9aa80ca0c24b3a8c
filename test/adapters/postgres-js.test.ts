import postgres from 'postgres'
import { fromPostgresJs } from '../../src/adapters/index.ts'
import { describeConnection, type Library } from '../contracts/connection.ts'

const open =
  (options: postgres.Options<{}>) =>
  (url: string): Library => {
    const sql = postgres(url, { max: 2, onnotice: () => undefined, ...options })
    return {
      transaction: async (work) =>
        (
          await sql.begin(async (tx) => [
            await work({
              tx: fromPostgresJs(tx),
              addOrder: (id) => tx`insert into orders (id) values (${id})`,
              run: (text) => tx.unsafe(text),
            }),
          ])
        )[0] as never,
      // @ts-expect-error what is not a transaction has no savepoints
      outside: async () => fromPostgresJs(sql),
      [Symbol.asyncDispose]: () => sql.end(),
    }
  }

describeConnection('a transaction of postgres.js', open({}))
describeConnection('a transaction of postgres.js that knows no types of the server', open({ fetch_types: false }))
