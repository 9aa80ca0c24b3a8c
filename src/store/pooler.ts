import pg from 'pg'
import { SluiceError } from '../errors.ts'
import { answer, clientOptions } from './client.ts'

/** What may stand between us and the server, and that it is to be found out. */
export const poolers = ['auto', 'transaction', 'none'] as const
export type Pooler = (typeof poolers)[number]

/** Whether a transaction pooler stands between us and the server; found out unless somebody says so. */
export async function findPooler(url: string | undefined, given: Pooler = 'auto'): Promise<boolean> {
  if (given === 'none') return false
  const pooled = given === 'transaction' || (await detectPooler(url))
  if (pooled) await refuseStatementMode(url)
  return pooled
}

/**
 * Finds out whether the sessions of the server are shared. A server that answers itself names its own process when a
 * connection opens; PgBouncer gives a number of its own, also in session mode, which cannot be told apart. Other poolers
 * may pass the server's number on. So it is also looked whether two open connections have the same process, or one
 * changes its own; but with others about that shows only most of the time.
 */
export async function detectPooler(url: string | undefined): Promise<boolean> {
  return withClients(url, 2, async ([first, second]) => {
    if (first === undefined || second === undefined) return false
    // Twice on one connection shows a pooler that takes turns, once on the other one that reuses the last.
    const own = [await backend(first), await backend(first)]
    const other = await backend(second)
    own.push(await backend(first))
    const [told, toldOther] = [processOf(first), processOf(second)]
    return own.some((pid) => pid !== told) || other !== toldOther || own.includes(other)
  })
}

/** A pooler that lends the server for one statement cannot run a transaction, and ours are made of several. */
async function refuseStatementMode(url: string | undefined): Promise<void> {
  try {
    await withClients(url, 1, async ([client]) => {
      for (const text of ['begin', 'select 1', 'rollback']) if (client !== undefined) await ask(client, text)
    })
  } catch (error) {
    if (!/statement pooling mode/.test((error as Error).message)) throw error
    throw new SluiceError('POOLER_MODE', {
      message:
        'The pooler before the database is in statement mode, which refuses transactions. Set pool_mode = transaction for this database and user, or connect directly.',
      cause: error,
    })
  }
}

const limitMs = 10_000

async function withClients<T>(
  url: string | undefined,
  count: number,
  work: (clients: pg.Client[]) => Promise<T>,
): Promise<T> {
  const clients = Array.from({ length: count }, () => new pg.Client(clientOptions({ url, purpose: 'check' })))
  for (const client of clients) client.on('error', () => undefined)
  try {
    for (const client of clients) await client.connect()
    return await work(clients)
  } finally {
    await Promise.allSettled(clients.map((client) => client.end()))
  }
}

async function ask(client: pg.Client, text: string): Promise<pg.QueryResult> {
  return answer(client, { text, values: [] }, limitMs)
}

async function backend(client: pg.Client): Promise<unknown> {
  return (await ask(client, 'select pg_backend_pid() as pid')).rows[0]?.pid
}

/** The process that the server named when the connection opened; its published types do not know it. */
function processOf(client: pg.Client): unknown {
  return (client as unknown as { processID: number | null }).processID
}
