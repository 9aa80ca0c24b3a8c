/**
 * The fence and the checkpoint. Every transaction that works on a batch locks the claim by its nonce before it changes
 * anything, and moves the checkpoint together with the rows. Both are written here once, for all forms of a sub-batch,
 * for rows that are set aside and for stretches that are passed over.
 */
import sql, { empty, raw, type Sql } from 'sql-template-tag'
import type { Claim } from '../../store/batches.ts'
import type { StoreConnection } from '../../store/connection.ts'
import type { Key } from '../../store/operations.ts'
import { runAs } from '../../store/statement.ts'
import type { Refused } from '../outcome.ts'
import type { Work } from '../work.ts'

/** What the fence tells whoever passes it. */
export interface Fenced {
  checkpoint: Key | null
  /** The checkpoint is where this transaction is to begin. */
  here: boolean
  /** The operation may go on: nobody has stopped it, its definition, or everything. */
  wanted: boolean
  pace: number
  /** The largest sub-batch that is wanted at the moment. */
  sub_batch_size: number
  run_window: string | null
  /** The database's clock, and how much WAL it has written in its life. */
  now: Date
  /** Where the WAL is, before anything has changed; null: the server does not tell. */
  wal_at: string | null
  /** The transaction that holds the lock. */
  xact: string
}

/** A table or a function of ours. */
export const our = ({ schema }: Pick<StoreConnection, 'schema'>, name: string): Sql => raw(`${schema}.${name}`)

/** The batch that is called `b` is leased under this claim. */
export const claimed = ({ batchId, nonce }: Claim): Sql =>
  sql`b.id = ${batchId} and b.nonce = ${nonce} and b.state = 'running'`

/**
 * Locks the claim for the length of the transaction. No row: it is somebody else's, change nothing. The lock also keeps
 * the batch from being rescued meanwhile.
 */
export function fence(
  connection: Pick<StoreConnection, 'schema'>,
  claim: Claim,
  { from, also = empty }: { from: Key | null; also?: Sql },
): Sql {
  return sql`select b.id, b.checkpoint, b.checkpoint is not distinct from ${from}::text[] as here,
      o.status in ('active', 'verifying')
        and not exists (select from ${our(connection, 'disabled_operation')} d where d.name = o.name)
        and not exists (select from ${our(connection, 'standstill')}) as wanted,
      o.pace, o.sub_batch_size, o.run_window, clock_timestamp() as now,
      ${our(connection, 'wal_position')}()::text as wal_at, pg_current_xact_id()::text as xact
    from ${our(connection, 'batch')} b
    join ${our(connection, 'operation')} o on o.id = b.operation_id
    where ${claimed(claim)} ${also}
    for update of b`
}

/** Moves the checkpoint of the batch that is called `b` past rows that were met. */
export function pass({ to, seen, matched }: { to: Key | null; seen: Sql | number; matched: Sql | number }): Sql {
  return sql`checkpoint = ${to}::text[], rows_seen = b.rows_seen + ${seen},
    rows_matched = b.rows_matched + ${matched}, errors = 0`
}

/** The same for one sub-batch, which extends the lease with it. */
export function advance(
  done: Parameters<typeof pass>[0] & { changed: Sql | number; busyMs: Sql | number; leaseMs: number },
): Sql {
  return sql`${pass(done)}, rows_changed = b.rows_changed + ${done.changed}, sub_batches = b.sub_batches + 1,
    busy_ms = b.busy_ms + ${done.busyMs},
    lease_until = clock_timestamp() + ${done.leaseMs} * interval '1 millisecond'`
}

/** WAL that was written since then, by whomever. */
export const walSince = (connection: Pick<StoreConnection, 'schema'>, walAt: Sql): Sql =>
  sql`coalesce(pg_wal_lsn_diff(${our(connection, 'wal_position')}(), ${walAt}::pg_lsn), 0)::float8`

/** The claim as it is; locked, so this waits for a transaction of ours that is in doubt. */
export async function readClaim(connection: StoreConnection, claim: Claim): Promise<Fenced | undefined> {
  const [fenced] = await runAs<Fenced>('batch.fence', connection, fence(connection, claim, { from: null }))
  return fenced
}

/** Locks the claim, and refuses when it is not ours, not where we thought, or not wanted. */
export async function passFence(
  connection: StoreConnection,
  claim: Claim,
  from: Key | null,
): Promise<Refused | ({ kind: 'passed' } & Fenced)> {
  const [fenced] = await runAs<Fenced>('batch.fence', connection, fence(connection, claim, { from }))
  if (fenced === undefined) return { kind: 'lost' }
  if (!fenced.here) return { kind: 'moved' }
  if (!fenced.wanted) return { kind: 'stop' }
  return { kind: 'passed', ...fenced }
}

/** The fence for whoever is about to begin: what has begun may be written down after its window has closed. */
export async function passOpenFence(
  connection: StoreConnection,
  { claim, isOpen }: Pick<Work, 'claim' | 'isOpen'>,
  from: Key | null,
): ReturnType<typeof passFence> {
  const fenced = await passFence(connection, claim, from)
  return fenced.kind === 'passed' && !isOpen(fenced.run_window, fenced.now) ? { kind: 'closed' } : fenced
}

/** Moves the checkpoint in the transaction that changed the rows. No row: the claim is lost, or the transaction over. */
export async function checkpoint(
  connection: StoreConnection,
  claim: Claim,
  {
    walAt,
    xact,
    ...done
  }: Parameters<typeof advance>[0] & {
    /** Where the WAL was at the fence. */
    walAt: string | null
    /** The transaction that passed the fence, where users' work may have ended it: in another one nothing is moved. */
    xact?: string | undefined
  },
): Promise<{ wal_bytes: number } | undefined> {
  const same = xact === undefined ? empty : sql`and pg_current_xact_id()::text = ${xact}`
  const move = sql`
    update ${our(connection, 'batch')} b
    set ${advance(done)}
    where ${claimed(claim)} ${same}
    returning b.id, ${walSince(connection, sql`${walAt}`)} as wal_bytes`
  const [moved] = await runAs<{ wal_bytes: number }>('batch.checkpoint', connection, move)
  return moved
}

/** The transaction that is under way. */
export async function currentTransaction(connection: StoreConnection): Promise<string | undefined> {
  const query = sql`select pg_current_xact_id()::text as xact`
  const [now] = await runAs<{ xact: string }>('batch.transaction', connection, query)
  return now?.xact
}
