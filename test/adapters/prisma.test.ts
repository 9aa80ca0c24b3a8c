import pg from 'pg'
import { fromPrisma, type PrismaTransaction } from '../../src/adapters/index.ts'
import { describeConnection, type Library } from '../contracts/connection.ts'

/** Prisma reads a bigint as one. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((type, format) =>
    type === pg.types.builtins.INT8
      ? BigInt
      : pg.types.getTypeParser(type, format)) as pg.CustomTypesConfig['getTypeParser'],
}

type MetaOf = (error: pg.DatabaseError) => object

/** What the two kinds of Prisma clients throw when a raw query fails. */
const withDriverAdapter: MetaOf = ({ code, message }) => ({
  driverAdapterError: { cause: { kind: 'postgres', originalCode: code, originalMessage: message } },
})
const withEngine: MetaOf = ({ code, message }) => ({ code, message })

async function raw(
  { client, metaOf }: { client: pg.PoolClient; metaOf: MetaOf },
  text: string,
  values: unknown[],
): Promise<unknown[]> {
  try {
    return (await client.query(text, values)).rows
  } catch (error) {
    const { code, message } = error as pg.DatabaseError
    const failed = new Error(`Raw query failed. Code: \`${code}\`. Message: \`${message}\``)
    throw Object.assign(failed, { code: 'P2010', meta: metaOf(error as pg.DatabaseError) })
  }
}

/**
 * Has the shape of Prisma's interactive transactions, over pg: the client of Prisma itself cannot be generated without
 * a download.
 */
const open =
  (metaOf: MetaOf) =>
  (url: string): Library => {
    const pool = new pg.Pool({ connectionString: url, max: 2, types })
    const prisma = {
      $queryRawUnsafe: async (_text: string, ..._values: unknown[]): Promise<unknown[]> => [],
      async $transaction<T>(work: (tx: PrismaTransaction) => Promise<T>): Promise<T> {
        const client = await pool.connect()
        try {
          await client.query('begin')
          const result = await work({ $queryRawUnsafe: (text, ...values) => raw({ client, metaOf }, text, values) })
          await client.query('commit')
          return result
        } catch (error) {
          await client.query('rollback')
          throw error
        } finally {
          client.release()
        }
      },
    }
    return {
      transaction: (work) =>
        prisma.$transaction((tx) =>
          work({
            tx: fromPrisma(tx),
            addOrder: async (id) => tx.$queryRawUnsafe('insert into orders (id) values ($1)', id as never),
            run: async (text) => tx.$queryRawUnsafe(text),
          }),
        ),
      // @ts-expect-error a client is no transaction
      outside: async () => fromPrisma(prisma),
      [Symbol.asyncDispose]: () => pool.end(),
    }
  }

describeConnection('a stand-in over pg for a transaction of Prisma with a driver adapter', open(withDriverAdapter))
describeConnection('a stand-in over pg for a transaction of Prisma with an engine', open(withEngine))
