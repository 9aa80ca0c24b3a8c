/**
 * Decision: a sub-batch of a preset with up to 2,000 rows is one statement (fence, change, checkpoint and look ahead
 * together), because round trips dominate there. A larger one is a transaction: counting rows inside the statement with
 * `returning` costs a third of the time of deleting them, more than the saved round trips. The next window is then
 * searched on another connection at the same time.
 */
import sql, { empty, type Sql } from 'sql-template-tag'
import type { Claim } from '../../store/batches.ts'
import type { StoreConnection } from '../../store/connection.ts'
import type { Key } from '../../store/operations.ts'
import { advance, fence, our, walSince } from './fence.ts'

/** What a sub-batch in one statement needs. */
export interface OneStatement {
  claim: Claim
  /** Where the claim must be, and where it is to go. */
  from: Key | null
  to: Key | null
  rowsSeen: number
  leaseMs: number
  /** How long to wait for one lock; undefined: as long as the session does. */
  lockMs?: number
  /** The change of the rows, as a statement that returns one row for each, with the given further condition. */
  change: (also: Sql) => Sql
  /** Finds the end of the next window. */
  ahead: Sql
}

/** What came of it. Without `moved`, nothing has changed. */
export interface OneStatementResult {
  pace: number
  /** The largest sub-batch that is wanted at the moment. */
  sub_batch_size: number
  run_window: string | null
  /** The claim was where it must be. */
  here: boolean
  /** Nobody has stopped the operation. */
  wanted: boolean
  moved: boolean
  rows: number
  ahead: Key | null
  wal_bytes: number
}

/** For this transaction alone. A wait looks at the limit when it begins, so it holds for the locks of this very statement. */
const limited = (lockMs: number): Sql => sql`sluice_limit as materialized (
      select set_config('lock_timeout', ${`${lockMs}`}, true) as lock_timeout
    ),`
const whenLimited = sql`and (select lock_timeout from sluice_limit) is not null`
const spent = sql`(extract(epoch from clock_timestamp() - statement_timestamp()) * 1000)::int`

/**
 * A whole sub-batch in one statement, and so in one transaction and one round trip: locks the claim, changes rows only
 * if it is ours, where we think and wanted, moves the checkpoint, and looks ahead. All parts see the same snapshot; the
 * lock makes sure that the claim is as it says. Hours in which the operation may run are for JavaScript to read: where
 * some are set, nothing changes. Users' conditions may name any table: ours go by names of our own.
 */
export async function changeInOne(
  connection: StoreConnection,
  { claim, from, to, rowsSeen, leaseMs, lockMs, change, ahead }: OneStatement,
): Promise<OneStatementResult | undefined> {
  const counted = sql`c.rows`
  const moved = { to, seen: rowsSeen, matched: counted, changed: counted, busyMs: spent, leaseMs }
  const query = sql`
    with ${lockMs === undefined ? empty : limited(lockMs)} sluice_claim as materialized (
      ${fence(connection, claim, { from, also: lockMs === undefined ? empty : whenLimited })}
    ), sluice_go as materialized (
      select id from sluice_claim where here and wanted and run_window is null
    ), sluice_changed as (
      ${change(sql`exists (select from sluice_go)`)}
    ), sluice_count as materialized (
      select count(*)::int as rows from sluice_changed
    ), sluice_moved as (
      update ${our(connection, 'batch')} b
      set ${advance(moved)}
      from sluice_go g, sluice_count c
      where b.id = g.id
      returning b.id
    )
    select s.here, s.wanted, s.pace, s.sub_batch_size, s.run_window,
      exists (select from sluice_moved) as moved, (select rows from sluice_count) as rows, (${ahead}) as ahead,
      ${walSince(connection, sql`s.wal_at`)} as wal_bytes
    from sluice_claim s`
  const { rows } = await connection.query(query.text, query.values)
  return rows[0] as OneStatementResult | undefined
}
