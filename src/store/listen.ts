import pg from 'pg'
import { answer, answerMarginMs, clientOptions, destroySocket, limitStatement } from './client.ts'
import type { ClientOptions, StoreConnection, Timeouts } from './connection.ts'
import { prepared } from './statement.ts'

/** A connection that listens, and on which one may answer to what was heard: its session is awake already. */
export interface Listening extends StoreConnection, AsyncDisposable {
  /** Rejects when the connection breaks. */
  readonly broken: Promise<never>
  /** Makes sure that the server still knows that this session listens. */
  check(): Promise<void>
}

const answerMs = 5_000

/** Opens a connection of its own that calls `hear` for each notification on a channel. */
export async function listen(
  options: ClientOptions & { schema: string; timeouts: Timeouts },
  channel: string,
  hear: () => void,
): Promise<Listening> {
  const { schema, timeouts } = options
  const client = new pg.Client(clientOptions(options))
  const broken = new Promise<never>((_, reject) => {
    client.on('error', reject)
    client.on('end', () => reject(new Error('Connection terminated')))
  })
  // It may break when nobody waits for it.
  broken.catch(() => undefined)
  await client.connect()
  client.on('notification', hear)
  const [limits, given] = limitStatement(timeouts, false)
  await answer(client, { text: limits, values: given }, answerMs)
  await answer(client, { text: `listen ${channel}`, values: [] }, answerMs)
  let asked = 0
  return {
    schema,
    broken,
    async query(text, values) {
      const name = prepared.get(text)
      asked += 1
      try {
        const limitMs = timeouts.statementMs + answerMarginMs
        return await answer(client, name === undefined ? { text, values } : { text, values, name }, limitMs)
      } finally {
        asked -= 1
      }
    },
    async check() {
      // Whoever waits for an answer has a limit of his own.
      if (asked > 0) return
      const query = { text: 'select count(*)::int as channels from pg_listening_channels()', values: [] }
      const { rows } = await answer(client, query, answerMs)
      if ((rows[0] as { channels: number }).channels === 0) throw new Error('the session does not listen any more')
    },
    async [Symbol.asyncDispose]() {
      destroySocket(client)
      await Promise.resolve()
    },
  }
}
