import { answer, answerMarginMs, Client, clientOptions, destroySocket, processOf } from './client.ts'
import type { ClientOptions, StoreConnection, Timeouts } from './connection.ts'
import { settingsText, stateOf } from './settings.ts'
import { isReadOnly, readOnly } from './sqlstate.ts'
import { prepared } from './statement.ts'

/** A connection that listens, and on which one may answer to what was heard: its session is awake already. */
export interface Listening extends StoreConnection, AsyncDisposable {
  /** Rejects when the connection breaks. */
  readonly broken: Promise<never>
  /** Makes sure that the server still knows that this session listens. */
  check(): Promise<void>
}

const answerMs = 5_000

/** Opens a connection of its own that calls `hear` for each notification on a channel that another session sent. */
export async function listen(
  options: ClientOptions & { schema: string; timeouts: Timeouts },
  channel: string,
  hear: (payload: string) => void,
): Promise<Listening> {
  const { schema, timeouts } = options
  const client = new Client(clientOptions(options))
  const broken = new Promise<never>((_, reject) => {
    client.on('error', reject)
    client.on('end', () => reject(new Error('Connection terminated')))
  })
  // It may break when nobody waits for it.
  broken.catch(() => undefined)
  await client.connect()
  const own = processOf(client)
  client.on('notification', ({ payload = '', processId }) => {
    if (processId !== own) hear(payload)
  })
  try {
    const state = stateOf(await answer(client, { text: settingsText(timeouts, false), values: [] }, answerMs))
    if (state.read_only === 'on') throw readOnly(state)
    await answer(client, { text: `listen ${channel}`, values: [] }, answerMs)
  } catch (error) {
    destroySocket(client)
    throw error
  }
  const asked = new Set<Promise<unknown>>()
  return {
    schema,
    broken,
    async query(text, values) {
      const name = prepared.get(text)
      const limitMs = timeouts.statementMs + answerMarginMs
      const answered = answer(client, name === undefined ? { text, values } : { text, values, name }, limitMs)
      asked.add(answered)
      try {
        return await answered
      } catch (error) {
        // The next connection may lead to the server that has taken over.
        if (isReadOnly(error)) destroySocket(client)
        throw error
      } finally {
        asked.delete(answered)
      }
    },
    async check() {
      // Whoever waits for an answer has a limit of his own.
      if (asked.size > 0) return
      const query = { text: 'select count(*)::int as channels from pg_listening_channels()', values: [] }
      const { rows } = await answer(client, query, answerMs)
      if ((rows[0] as { channels: number }).channels === 0) throw new Error('the session does not listen any more')
    },
    async [Symbol.asyncDispose]() {
      // To cut off a claim would leave it in doubt.
      await Promise.allSettled(asked)
      destroySocket(client)
    },
  }
}
