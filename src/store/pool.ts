import pg from 'pg'
import { SluiceError } from '../errors.ts'
import { Slots } from '../std/slots.ts'
import {
  answer,
  answerMarginMs,
  Client,
  clientOptions,
  connectTimeoutMs,
  destroySocket,
  processOf,
  type Query,
} from './client.ts'
import { prepared } from './statement.ts'
import type { ClientOptions, Result, StoreConnection, Timeouts } from './connection.ts'
import { valuesIn } from './free-text.ts'
import { limitsText, settingsText, stateOf, type SessionState } from './settings.ts'
import { isReadOnly, readOnly } from './sqlstate.ts'
import { endsTransaction } from './transaction-end.ts'

/** How to reach one database, and how patient to be with it. */
export interface PoolOptions extends ClientOptions {
  schema: string
  size: number
  timeouts: Timeouts
  /**
   * A transaction pooler is in between: settings then go into each transaction, because sessions are shared. Left out:
   * {@link Pool.findPooler} comes before anything else.
   */
  pooled?: boolean
  /** It reads from a standby, whose sessions are read-only as they should be. */
  standby?: boolean
  /** How long to wait for a connection that is free. */
  waitMs?: number
  /** How long a connection is used. The next one goes to where the name of the server leads by then. */
  lifeSeconds?: number
}

/** After a failover, or behind a name that has moved, connections are in the right place again after so long. */
export const lifeSeconds = 1_800

/** All connections in use for so long are a handler that hangs, or one that waits for another connection. */
const waitMs = 60_000

/** The pool waits for the promise; its published types do not know that. */
type Awaiting = Omit<pg.PoolConfig, 'onConnect'> & { onConnect(client: pg.ClientBase): Promise<void> }

/** A transaction in progress: run statements in it, all of them on one connection. */
export interface Transaction extends StoreConnection {
  readonly purpose: string
  /** Whether somebody's work in it has ended it, by COMMIT or ROLLBACK: what is sent now would commit by itself. */
  isEnded(): boolean
}

/** A connection on which nothing is set yet. */
export interface BareConnection {
  /** The process that the server named when the connection opened. */
  readonly processId: unknown
  ask(text: string): Promise<Result>
}

interface CheckedOut {
  client: pg.PoolClient
  release: (usable: boolean) => void
}

/**
 * A small pool of connections for one purpose. Every answer has a client-side limit after which the socket is
 * destroyed: a half-open connection can neither hang a worker nor return to the pool. Nor does one to a server that
 * cannot write: in a failover that is the wrong server, and the next connection may find the right one.
 */
export class Pool implements StoreConnection {
  readonly schema: string
  readonly #options: PoolOptions
  readonly #pool: pg.Pool
  readonly #inUse = new Set<(usable: boolean) => void>()
  /** Waiting happens here: the driver's pool would take a long wait for a server that does not answer. */
  readonly #places: Slots
  /** Connections that are used once. */
  readonly #readOnly = new WeakSet<pg.ClientBase>()
  #pooled: boolean | undefined
  #refusesReadOnly = false
  #transactions = 0
  #encoding = 'UTF8'

  constructor(options: PoolOptions) {
    this.schema = options.schema
    this.#options = options
    this.#pooled = options.pooled
    this.#places = new Slots(options.size)
    this.#pool = new pg.Pool({
      ...clientOptions(options),
      Client,
      max: options.size,
      idleTimeoutMillis: 30_000,
      maxLifetimeSeconds: options.lifeSeconds ?? lifeSeconds,
      onConnect: (client) => this.#prepare(client),
    } satisfies Awaiting)
    // Idle clients report a lost server here; the next checkout connects anew.
    this.#pool.on('error', () => undefined)
  }

  /** How many transactions it has begun: a single statement is one, too. */
  get transactions(): number {
    return this.#transactions
  }

  /**
   * Lets somebody find out on its first connections whether a pooler is in between. They are bare until that is known,
   * and then as any other.
   */
  async findPooler(find: (open: () => Promise<BareConnection>) => Promise<boolean>): Promise<boolean> {
    const opened: CheckedOut[] = []
    let usable = false
    try {
      const pooled = await find(async () => {
        const next = await this.#checkOut()
        opened.push(next)
        return bare(next.client)
      })
      this.#pooled = pooled
      if (!pooled) for (const { client } of opened) await this.#set(client)
      usable = true
      return pooled
    } finally {
      for (const { release } of opened) release(usable)
    }
  }

  /**
   * From now on a server that cannot write is not read from, either. A worker decides by what it reads, and a standby
   * may be behind: an operation would end with rows left.
   */
  refuseReadOnly(): void {
    this.#refusesReadOnly = true
  }

  /** Runs one statement. Behind a pooler it takes a transaction: there is no other way to settings of our own. */
  async query(text: string, values: unknown[]): Promise<Result> {
    if (this.#pooled !== true) return this.alone(text, values)
    return this.transaction((transaction) => transaction.query(text, values))
  }

  /** Runs one statement that no transaction may be around. Behind a pooler it has the settings of the role. */
  async alone(text: string, values: unknown[]): Promise<Result> {
    const { client, release } = await this.#checkOut()
    let failure: unknown
    try {
      return await answer(client, this.#named(text, values), this.#options.timeouts.statementMs + answerMarginMs)
    } catch (error) {
      failure = error
      throw error
    } finally {
      release(isUsable(failure))
    }
  }

  /**
   * Runs `work` in one transaction, with narrower limits if any are given, and rolls it back when its result is none to
   * keep. Whatever goes wrong, the connection ends rolled back or destroyed.
   */
  async transaction<T>(
    work: (transaction: Transaction) => Promise<T>,
    narrower: Partial<Timeouts> = {},
    keeps: (result: T) => boolean = () => true,
  ): Promise<T> {
    const { client, release } = await this.#checkOut()
    const timeouts = { ...this.#options.timeouts, ...narrower }
    const limitMs = timeouts.statementMs + answerMarginMs
    const run = (text: string, values: unknown[]) => answer(client, this.#named(text, values), limitMs)
    let [usable, over, ended] = [false, false, false]
    // Work that was left behind may go on; the connection is somebody else's by then.
    const query: Transaction['query'] = async (text, values) => {
      if (over) throw new Error('the transaction is over')
      const result = await run(text, values)
      ended ||= endsTransaction(text, result, client)
      return result
    }
    const isEnded = (): boolean => ended
    try {
      if (this.#pooled === true) this.#look(client, stateOf(await run(`${begin}; ${settingsText(timeouts, true)}`, [])))
      else if (Object.keys(narrower).length > 0) await run(`${begin}; ${limitsText(timeouts)}`, [])
      else await run(begin, [])
      const result = await work({ schema: this.schema, purpose: this.#options.purpose, query, isEnded })
      over = true
      await run(keeps(result) ? 'commit' : 'rollback', [])
      usable = true
      return result
    } catch (error) {
      over = true
      usable = (await rolledBack(client)) && !isReadOnly(error)
      throw error
    } finally {
      release(usable)
    }
  }

  /** Closes all connections. One that is still in use is cut, which rolls back: work that hangs cannot hold us up. */
  async end(): Promise<void> {
    const closed = this.#pool.end()
    for (const cut of this.#inUse) cut(false)
    await closed
  }

  /** Behind a transaction pooler a session may have forgotten what was prepared in another. */
  #named(text: string, values: unknown[]): Query {
    const name = this.#pooled === true ? undefined : prepared.get(text)
    const query = { text, values: valuesIn(this.#encoding, values) }
    return name === undefined ? query : { ...query, name }
  }

  async #checkOut(): Promise<CheckedOut> {
    if (!(await this.#places.take(this.#options.waitMs ?? waitMs))) throw this.#allInUse()
    try {
      const client = await this.#pool.connect()
      this.#transactions += 1
      const release = (usable: boolean): void => {
        if (!this.#inUse.delete(release)) return
        const ends = !usable || this.#readOnly.has(client)
        if (ends) destroySocket(client)
        client.release(ends)
        this.#places.give()
      }
      this.#inUse.add(release)
      return { client, release }
    } catch (error) {
      this.#places.give()
      throw error
    }
  }

  #allInUse(): SluiceError {
    const { purpose, size, waitMs: limitMs = waitMs } = this.#options
    return new SluiceError('DATABASE_TIMEOUT', {
      message: `No connection for ${purpose} became free within ${limitMs / 1_000} s: all ${size} are in use. Look for work that holds a transaction open, or that waits for another connection inside of one.`,
      details: { purpose, size, limitMs },
    })
  }

  async #prepare(client: pg.ClientBase): Promise<void> {
    // While a client is checked out nobody else listens: without this, a lost server would end the process.
    client.on('error', () => undefined)
    if (this.#pooled === false) await this.#set(client)
  }

  async #set(client: pg.ClientBase): Promise<void> {
    const query = { text: settingsText(this.#options.timeouts, false), values: [] }
    this.#look(client, stateOf(await answer(client, query, connectTimeoutMs)))
  }

  /** Lets a connection to a server that cannot write be used once, or not at all. */
  #look(client: pg.ClientBase, state: SessionState): void {
    this.#encoding = state.encoding
    if (state.read_only !== 'on' || this.#options.standby === true) return
    if (this.#refusesReadOnly) throw readOnly(state)
    this.#readOnly.add(client)
  }
}

function bare(client: pg.ClientBase): BareConnection {
  return { processId: processOf(client), ask: (text) => answer(client, { text, values: [] }, connectTimeoutMs) }
}

/** Whatever the database, the role or a handler before has made the default. */
const begin = 'begin isolation level read committed'

/** After an error that the server itself reported, and that is not FATAL, the connection is still good. */
function isUsable(error: unknown): boolean {
  if (error === undefined) return true
  if (isReadOnly(error)) return false
  return error instanceof Error && 'severity' in error && error.severity === 'ERROR'
}

async function rolledBack(client: pg.ClientBase): Promise<boolean> {
  try {
    await answer(client, { text: 'rollback', values: [] }, answerMarginMs)
    return true
  } catch {
    // The connection is broken; destroying it rolls back on the server.
    return false
  }
}
