import pg from 'pg'
import { answer, clientOptions } from './client.ts'

/**
 * Finds out whether a transaction pooler stands between us and the server. Two open connections have two server
 * processes; when both report the same one, or one connection changes its own, the sessions are shared.
 */
export async function detectPooler(url: string | undefined): Promise<boolean> {
  const first = new pg.Client(clientOptions({ url, purpose: 'check' }))
  const second = new pg.Client(clientOptions({ url, purpose: 'check' }))
  for (const client of [first, second]) client.on('error', () => undefined)
  try {
    await first.connect()
    await second.connect()
    // Twice on one connection shows a pooler that takes turns, once on the other one that reuses the last.
    const own = [await backend(first), await backend(first)]
    const other = await backend(second)
    own.push(await backend(first))
    return new Set(own).size > 1 || own.includes(other)
  } finally {
    await Promise.allSettled([first.end(), second.end()])
  }
}

const limitMs = 10_000

async function backend(client: pg.Client): Promise<unknown> {
  const { rows } = await answer(client, { text: 'select pg_backend_pid() as pid', values: [] }, limitMs)
  return rows[0]?.pid
}
