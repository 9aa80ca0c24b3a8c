import { sql } from 'drizzle-orm'
import { drizzle as overPg } from 'drizzle-orm/node-postgres'
import { bigint, pgTable } from 'drizzle-orm/pg-core'
import { drizzle as overPostgresJs } from 'drizzle-orm/postgres-js'
import pg from 'pg'
import postgres from 'postgres'
import { fromDrizzle } from '../../src/adapters/index.ts'
import { describeConnection, type Library } from '../contracts/connection.ts'

const orders = pgTable('orders', { id: bigint('id', { mode: 'number' }).notNull() })

function library(
  db: ReturnType<typeof overPg> | ReturnType<typeof overPostgresJs>,
  close: () => Promise<void>,
): Library {
  return {
    transaction: (work) =>
      db.transaction((tx) =>
        work({
          tx: fromDrizzle(tx, sql),
          addOrder: (id) => tx.insert(orders).values({ id }),
          run: (text) => tx.execute(sql.raw(text)),
        }),
      ),
    // @ts-expect-error what is not a transaction cannot be rolled back
    outside: async () => fromDrizzle(db, sql),
    [Symbol.asyncDispose]: close,
  }
}

describeConnection('a transaction of Drizzle over pg', (url) => {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  return library(overPg(pool), () => pool.end())
})

describeConnection('a transaction of Drizzle over postgres.js', (url) => {
  const client = postgres(url, { max: 2, onnotice: () => undefined })
  return library(overPostgresJs(client), () => client.end())
})
