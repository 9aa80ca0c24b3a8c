import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { Client as PgClient, type ClientConfig, type Connection } from 'pg'
import { testDatabase } from '../database.ts'
import { startFaultProxy, type FaultProxy } from './index.ts'
import { cancelRequest } from './messages.ts'

export const sleep = (ms: number): Promise<'silence'> => setTimeout(ms, 'silence')

/** A pg client that closes with its scope and to which a broken connection is no uncaught error. */
export class Client extends PgClient {
  constructor(config: ClientConfig) {
    super(config)
    this.on('error', () => {})
  }

  async value(text: string, values?: unknown[]): Promise<unknown> {
    const { rows } = await this.query<unknown[]>({ text, ...(values && { values }), rowMode: 'array' })
    return rows[0]?.[0]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A severed client would wait for ever for the other side to say goodbye.
    await Promise.race([this.end(), sleep(50)])
  }
}

/** A real server with a table to write to, for the tests of the proxy itself. */
export interface Rig {
  direct: Client
  proxy(): Promise<FaultProxy>
  connect(proxy: FaultProxy, config?: ClientConfig): Promise<Client>
  emptyLedger(): Promise<void>
  ledger(): Promise<unknown>
  stop(): Promise<void>
}

export async function startRig(): Promise<Rig> {
  const db = await testDatabase()
  const direct = new Client({ connectionString: db.url })
  await direct.connect()
  return {
    direct,
    proxy: () => startFaultProxy({ host: '127.0.0.1', port: Number(new URL(db.url).port) }),
    connect: async (proxy, config = {}) => {
      const client = new Client({ connectionString: proxy.url(db.url), ...config })
      await client.connect()
      return client
    },
    emptyLedger: async () => {
      await direct.query('drop table if exists ledger; create table ledger (id int primary key)')
    },
    ledger: () => direct.value('select array_agg(id order by id) from ledger'),
    stop: async () => {
      await direct.end()
      await db[Symbol.asyncDispose]()
    },
  }
}

/** The SQLSTATE or system code with which the work failed, else the error's text. */
export const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no error',
    (error: unknown) => (error instanceof Error && 'code' in error && error.code) || String(error),
  )

export async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(10)
}

/** Sends a cancel request on a connection of its own, as psql does. */
export async function cancel(proxy: FaultProxy, client: Client): Promise<void> {
  const key = Buffer.alloc(8)
  key.writeInt32BE(Number(Reflect.get(client, 'processID')))
  key.writeInt32BE(Number(Reflect.get(client, 'secretKey')), 4)
  const socket = connect(proxy.port, '127.0.0.1').resume()
  socket.write(cancelRequest(key))
  await new Promise((resolve) => socket.once('close', resolve))
}

/** Sends messages as they are and resolves with the command tags, rejects with the first error. */
export function exchange(client: Client, bytes: Buffer, copyData?: Buffer): Promise<string[]> {
  const tags: string[] = []
  return new Promise((resolve, reject) => {
    client.query({
      submit: ({ stream }: Connection) => void stream.write(bytes),
      handleCopyInResponse: ({ stream }: Connection) => stream.write(copyData ?? ''),
      handleCommandComplete: ({ text }: { text: string }) => tags.push(text),
      handleReadyForQuery: () => resolve(tags),
      handleError: reject,
      handleRowDescription: () => {},
      handleDataRow: () => {},
    })
  })
}
