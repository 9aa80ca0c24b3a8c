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

/** Gives a user's own connection the schema of our tables, so that our statements can run in the user's transaction. */
export function onConnection(connection: Connection, schema: string): StoreConnection {
  return { schema, query: (text, values) => connection.query(text, values) }
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
