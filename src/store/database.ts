/**
 * The store: all SQL on our own tables, and the connections that it uses.
 *
 * The model. All state that matters is in PostgreSQL. Each statement is one exported function with one whole SQL text
 * (`statement.ts`). There are two main pools: one for our own short statements and one for users' work.
 *
 * The invariants. Every state change is guarded by its `where` clause, so it holds under concurrency. Apart from
 * settings and LISTEN, no session state is used: no `search_path`, no session advisory locks and, behind a pooler, no
 * named prepared statements.
 *
 * On a crash a statement or transaction has either committed or left nothing. See docs/internals/crash-safety.md for
 * operations and docs/internals/jobs.md for jobs.
 *
 * Decisions.
 * - Poolers are detected, and the configuration can overrule the result. A server names its own backend process when a
 *   connection opens, and a pooler returns another number. If two connections report the same process, or one
 *   connection changes its process, a pooler passes the number through. Behind a pooler, settings go into each
 *   transaction instead of the session, and a single statement becomes a transaction.
 * - A worker does not read from a server that cannot write. During a failover it is the wrong server and may lag, and
 *   an operation that reads there would end with rows left. `default_transaction_read_only` is respected and never
 *   switched off: platforms set it to protect a full disk.
 * - Live tables stay small. The statement that finishes a row moves it to a history table. History is partitioned (by
 *   week for operations, by day for jobs) and dropped by whole partitions. A function with the rights of the migrator
 *   creates partitions, so workers need no right to create tables.
 * - Only the control pool reads `bigint` as a number, for our own counters. Rows that users' code reads keep what `pg`
 *   returns: text, unless the application configures something else.
 */
import type { Timeouts } from './connection.ts'
import { Pool } from './pool.ts'
import { findPooler, type Pooler } from './pooler.ts'
import { Replica } from './replica.ts'
import { isUnreachable, unreachable } from './sqlstate.ts'

/** Which database holds our tables, and the limits for talking to it. */
export interface DatabaseOptions {
  url: string | undefined
  /** Connection string of a replica that some reads may go to. */
  replica?: string | undefined
  /** Default: `auto`. */
  pooler?: Pooler
  schema: string
  timeouts: Timeouts
  /** Connections for users' work; one per batch that runs at once. */
  workSize: number
}

/**
 * The control store and first target: one pool for our own short statements and one for users' work, so that slow
 * work can never keep a lease from being settled. Leases are renewed by a thread with a connection of its own.
 */
export interface Database extends AsyncDisposable {
  readonly options: DatabaseOptions
  readonly pooled: boolean
  readonly control: Pool
  readonly work: Pool
  /** For users' work that is begun inside of other work, which keeps its own connection: one pool for each level. */
  nested(level: number): Pool
  /** For reads whose definition allows it, where there is one. */
  readonly replica?: Replica
  close(): Promise<void>
}

const controlSize = 3
/** Few need it, and those who wait for one of these hold others. */
const nestedSize = 4
/** What is read from a replica is looks ahead: few at a time. */
const replicaSize = 2

/**
 * Opens the pools, after one look whether a transaction pooler is in between. `say` hears why a replica is not read from,
 * and null when it is.
 */
export async function openDatabase(
  options: DatabaseOptions,
  say: (reason: string | null) => void = () => undefined,
): Promise<Database> {
  const control = new Pool({ ...options, purpose: 'control', size: controlSize, countsAsNumbers: true })
  const pooled = await findPooler(control, options.pooler).catch(async (error: unknown) => {
    await control.end()
    throw isUnreachable(error) ? unreachable(error) : error
  })
  const work = new Pool({ ...options, purpose: 'work', size: options.workSize, pooled })
  const { replica: url, schema, timeouts } = options
  const replica = url === undefined ? undefined : new Replica({ url, schema, timeouts, size: replicaSize }, say)
  const levels = new Map<number, Pool>()
  const nested = (level: number): Pool => {
    const pool = levels.get(level) ?? new Pool({ ...options, purpose: 'nested work', size: nestedSize, pooled })
    levels.set(level, pool)
    return pool
  }
  const close = async (): Promise<void> => {
    await Promise.all([control.end(), work.end(), replica?.end(), ...[...levels.values()].map((pool) => pool.end())])
  }
  const far = replica === undefined ? {} : { replica }
  return { options, pooled, control, work, nested, ...far, close, [Symbol.asyncDispose]: close }
}
