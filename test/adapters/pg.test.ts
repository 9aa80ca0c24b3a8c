import pg from 'pg'
import { describeConnection, type Library } from '../contracts/connection.ts'

function open(url: string): Library {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  return {
    async transaction(work) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        const result = await work({
          tx: client,
          addOrder: (id) => client.query('insert into orders (id) values ($1)', [id]),
          run: (text) => client.query(text),
        })
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

describeConnection('a transaction of pg, as it is', open, { adapted: false })
