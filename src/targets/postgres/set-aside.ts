/** What moves a checkpoint without changing rows: stretches with nothing to do, and rows that cannot be processed. */
import sql from 'sql-template-tag'
import type { ErrorRecord } from '../../std/error-record.ts'
import { uuidv7 } from '../../std/uuid.ts'
import type { Claim } from '../../store/batches.ts'
import type { StoreConnection } from '../../store/connection.ts'
import type { Database } from '../../store/database.ts'
import { freeJson } from '../../store/free-text.ts'
import { runAs } from '../../store/statement.ts'
import type { Outcome, Quarantined } from '../outcome.ts'
import type { Stretch, Work } from '../work.ts'
import { isCommitted } from './commit.ts'
import { checkpoint, claimed, our, pass, passFence, passOpenFence } from './fence.ts'

/** Passes over a window in which there is nothing to do; gives the time that it took since `began`. */
export async function passOver(
  database: Database,
  work: Work,
  { window, rows, began }: Stretch & { began: number },
): Promise<Outcome<{ elapsedMs: number }>> {
  return database.work.transaction<Outcome<{ elapsedMs: number }>>(
    async (transaction) => {
      const fenced = await passOpenFence(transaction, work, window.lower)
      if (fenced.kind !== 'passed') return fenced
      const elapsedMs = Math.round(performance.now() - began)
      const counts = { seen: rows, matched: 0, changed: 0, busyMs: elapsedMs, leaseMs: work.leaseMs }
      const moved = { to: window.upper, ...counts, walAt: fenced.wal_at }
      const kept = await checkpoint(transaction, work.claim, moved)
      return kept === undefined ? { kind: 'lost' } : { kind: 'committed', elapsedMs }
    },
    {},
    isCommitted,
  )
}

/** Why rows are set aside. */
export interface Cause {
  error: ErrorRecord
  fingerprint: string
}

/** Isolates a range with its error and goes on after it. */
export async function quarantine(
  database: Database,
  { claim }: Pick<Work, 'claim'>,
  range: Stretch & Cause,
): Promise<Outcome<Quarantined>> {
  return database.work.transaction<Outcome<Quarantined>>(
    async (transaction) => {
      const fenced = await passFence(transaction, claim, range.window.lower)
      if (fenced.kind !== 'passed') return fenced
      const isolated = await isolate(transaction, claim, range)
      return isolated === undefined ? { kind: 'lost' } : { kind: 'committed', ...isolated }
    },
    {},
    isCommitted,
  )
}

/** Writes the range down and moves the checkpoint past it, in the transaction that holds the fence. */
export async function isolate(
  connection: StoreConnection,
  claim: Claim,
  { window: { lower, upper }, rows, error, fingerprint }: Stretch & Cause,
): Promise<Quarantined | undefined> {
  const met = sql`fresh.rows`
  const query = sql`
    with fresh as (
      -- A second pass may meet a row while a retry of its range isolates it again.
      select case when exists (
        select from ${our(connection, 'quarantine')} q
        join ${our(connection, 'batch')} b on b.operation_id = q.operation_id
        where b.id = ${claim.batchId} and q.upper_key = ${upper}::text[] and q.retried_at is null)
        then 0 else ${rows}::int end as rows
    ), moved as (
      update ${our(connection, 'batch')} b
      set ${pass({ to: upper, seen: met, matched: met })}, rows_quarantined = b.rows_quarantined + fresh.rows,
        crashes = 0, crash_checkpoint = null, crash_nonce = null
      from fresh
      where ${claimed(claim)} and b.checkpoint is not distinct from ${lower}::text[]
      returning b.operation_id, b.seq, b.rows_quarantined, fresh.rows
    ), isolated as (
      insert into ${our(connection, 'quarantine')}
        (id, operation_id, seq, lower_key, upper_key, rows, error, fingerprint)
      select ${uuidv7()}::uuid, operation_id, seq, ${lower}::text[], ${upper}::text[], ${rows}::int,
        ${freeJson(error)}::text::jsonb, ${fingerprint}::text
      from moved
      where rows > 0
    )
    select (o.rows_quarantined + m.rows_quarantined)::int as total, o.quarantine_limit
    from moved m
    join ${our(connection, 'operation')} o on o.id = m.operation_id`
  const [isolated] = await runAs<Quarantined>('quarantine.isolate', connection, query)
  return isolated
}
