import { SluiceError } from '../errors.ts'
import { valuesIn } from './free-text.ts'

/** Rows that a statement gave back. */
export interface Result<R = Record<string, unknown>> {
  rows: R[]
  rowCount: number | null
}

/**
 * Anything that can run one SQL statement: a pool, a client inside a transaction, or a user's own transaction.
 * A `pg` client or pool client fits as it is.
 */
export interface Connection {
  query(text: string, values: unknown[]): Promise<Result>
}

/** A connection that knows in which schema our tables are. */
export interface StoreConnection extends Connection {
  readonly schema: string
}

/** Gives a connection the schema of our tables, so that our statements can run on it. */
export function onConnection(connection: Connection, schema: string): StoreConnection {
  return { schema, query: (text, values) => connection.query(text, valuesIn('UTF8', values)) }
}

/**
 * The same for what a user gives as a transaction. Refuses what is known not to be in one: each statement would commit
 * by itself, and stay when the user rolls back.
 */
export function onTransaction(connection: Connection, schema: string): StoreConnection {
  if (isPool(connection)) throw outside('is a pool: each of its statements may run on another connection')
  return {
    schema,
    async query(text, values) {
      if (isOutside(connection)) throw outside('is not in a transaction')
      return connection.query(text, valuesIn('UTF8', values))
    },
  }
}

/** A pool of `pg`, by its shape: there may be several copies of the package. */
function isPool(connection: object): boolean {
  return 'totalCount' in connection && 'idleCount' in connection && 'connect' in connection
}

/**
 * Whether a client of `pg` would send a statement outside of a transaction. It knows from the server's last answer; while
 * a statement is under way, which may be a BEGIN, nobody does.
 */
function isOutside(connection: object): boolean {
  const client = connection as { getTransactionStatus?: () => unknown; readyForQuery?: unknown }
  if (client.readyForQuery !== true || typeof client.getTransactionStatus !== 'function') return false
  return client.getTransactionStatus() === 'I'
}

function outside(problem: string): SluiceError {
  return new SluiceError('TRANSACTION_INVALID', {
    message: `What was given as "tx" ${problem}. Give a client on which "begin" has run, or what an adapter of sluice/adapters makes of a transaction; or leave "tx" out.`,
    details: { problem },
  })
}

/** How to open a connection. */
export interface ClientOptions {
  /** Connection string; without it the PG* environment variables decide. */
  url: string | undefined
  /** What the connection is for; shown by pg_stat_activity. */
  purpose: string
  /** Read bigint as a number. For our own counters; users' rows keep what their application made of `pg`'s types. */
  countsAsNumbers?: boolean
}

/** Limits that the server sets on a session, and with a margin the client on each answer. */
export interface Timeouts {
  statementMs: number
  lockMs: number
  idleInTransactionMs: number
}
