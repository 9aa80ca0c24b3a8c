import pg from 'pg'
import { answer, clientOptions, destroySocket } from './client.ts'
import type { ClientOptions } from './connection.ts'

/** A connection that listens. */
export interface Listening extends AsyncDisposable {
  /** Rejects when the connection breaks. */
  readonly broken: Promise<never>
  /** Makes sure that the server still knows that this session listens. */
  check(): Promise<void>
}

const answerMs = 5_000

/** Opens a connection of its own that calls `hear` for each notification on a channel. */
export async function listen(options: ClientOptions, channel: string, hear: () => void): Promise<Listening> {
  const client = new pg.Client(clientOptions(options))
  const broken = new Promise<never>((_, reject) => {
    client.on('error', reject)
    client.on('end', () => reject(new Error('Connection terminated')))
  })
  // It may break when nobody waits for it.
  broken.catch(() => undefined)
  await client.connect()
  client.on('notification', hear)
  await answer(client, { text: `listen ${channel}`, values: [] }, answerMs)
  return {
    broken,
    async check() {
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
