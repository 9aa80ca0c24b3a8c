import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { run, withDatabase } from './cluster.ts'

/** A database that stores the letters of western Europe and no others. */
export async function latinDatabase(
  encoding: 'LATIN1' | 'LATIN9' = 'LATIN1',
): Promise<AsyncDisposable & { url: string; value(text: string): Promise<unknown> }> {
  const cluster = inject('clusterUrl')
  const name = `latin_${randomBytes(6).toString('hex')}`
  const pool = new pg.Pool({ connectionString: withDatabase(cluster, name), max: 1 })
  // A client that is closing may still hear that its database was dropped.
  pool.on('error', () => undefined)
  const server = new pg.Client({ connectionString: cluster })
  await server.connect()
  const { rows } = await server.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  )
  await server.end()
  const provider = (rows[0]?.version ?? 0) < 150_000 ? '' : 'locale_provider libc'
  await run(cluster, `create database ${name} encoding '${encoding}' locale 'C' ${provider} template template0`)
  return {
    url: withDatabase(cluster, name),
    value: async (text) => Object.values((await pool.query<object>(text)).rows[0] ?? {})[0],
    async [Symbol.asyncDispose]() {
      await pool.end()
      await run(cluster, `drop database ${name} with (force)`)
    },
  }
}
