import type { EventEmitter } from 'node:events'
import pg from 'pg'
import { SluiceError } from '../errors.ts'
import type { ClientOptions } from './connection.ts'

/** How much longer than the server the client waits before it gives the connection up for dead. */
export const answerMarginMs = 5_000
export const connectTimeoutMs = 10_000

/** Settings of a single connection, shared by pools and by the thread that renews leases. */
export function clientOptions({ url, purpose, countsAsNumbers = false }: ClientOptions): pg.ClientConfig {
  return {
    ...(url === undefined ? {} : { connectionString: url }),
    application_name: `sluice ${purpose}`,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    ...(countsAsNumbers ? { types: { getTypeParser: parserOf } } : {}),
  }
}

/**
 * A connection of ours. One that cannot log in is cut off: the driver only tells, and the server would wait for the rest
 * for a minute, and with it whoever drops a database.
 */
export class Client extends pg.Client {
  constructor(options?: pg.ClientConfig) {
    super(options)
    connectionOf(this)?.on('error', () => destroySocket(this))
  }
}

/** The server process of a session, as the server told it at the login. The published types do not know it. */
export const processOf = (client: pg.ClientBase): unknown => (client as unknown as { processID: unknown }).processID

/** Why a connection string cannot be read; undefined: it can. Nothing is connected to. */
export function problemOfUrl(url: string): string | undefined {
  if (!/^postgres(ql)?:\/\//.test(url)) return 'must be a connection string that starts with postgres://'
  try {
    void new pg.Client({ connectionString: url })
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A file of certificates that it names. Any other message may show a part of the text.
    if (code === 'ENOENT' || code === 'EACCES') return `names a file that cannot be read: ${(error as Error).message}`
    return 'must be a connection string such as postgres://user@host:5432/name: host, port or escapes are wrong'
  }
}

const parserOf: typeof pg.types.getTypeParser = (
  type: Parameters<typeof pg.types.getTypeParser>[0],
  format?: 'text' | 'binary',
) => (type === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(type, format))

/** A statement with its values, and the name under which the server keeps it, if it does. */
export interface Query {
  text: string
  values: unknown[]
  name?: string
}

/** Runs one statement; when no answer comes in time, destroys the socket and says so. */
export async function answer(client: pg.ClientBase, query: Query, limitMs: number): Promise<pg.QueryResult> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      destroySocket(client)
      reject(
        new SluiceError('DATABASE_TIMEOUT', {
          message: `The database gave no answer within ${limitMs} ms; the connection was dropped. Check the network and the server's load.`,
          details: { limitMs },
        }),
      )
    }, limitMs)
  })
  try {
    return await Promise.race([client.query(query), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Cuts a connection off at once; the server then rolls back. */
export function destroySocket(client: pg.ClientBase): void {
  connectionOf(client)?.stream.destroy()
}

/** What is below a client; its published types do not know it. */
function connectionOf(client: pg.ClientBase): (EventEmitter & { stream: { destroy(): void } }) | undefined {
  return (client as unknown as { connection?: EventEmitter & { stream: { destroy(): void } } }).connection
}
