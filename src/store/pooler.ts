import pg from 'pg'
import { answer, clientOptions } from './pool.ts'

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
    const before = await backend(first)
    await answer(second, { text: 'begin', values: [] }, limitMs)
    const other = await backend(second)
    const after = await backend(first)
    await answer(second, { text: 'rollback', values: [] }, limitMs)
    return before === other || before !== after
  } finally {
    await Promise.allSettled([first.end(), second.end()])
  }
}

const limitMs = 10_000

async function backend(client: pg.Client): Promise<unknown> {
  const { rows } = await answer(client, { text: 'select pg_backend_pid() as pid', values: [] }, limitMs)
  return rows[0]?.pid
}
