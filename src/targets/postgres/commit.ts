/**
 * One sub-batch: the claim is locked by its nonce, the rows change, the checkpoint moves, all in one transaction. A
 * crash at any point repeats no row and skips none; a stale worker commits nothing.
 */
import type { Database } from '../../store/database.ts'
import type { Key } from '../../store/operations.ts'
import type { Transaction } from '../../store/pool.ts'
import type { Changed, Outcome, Refused } from '../outcome.ts'
import type { Change } from '../walk.ts'
import type { Stretch, Work } from '../work.ts'
import { openBatch, type Tally } from './batch.ts'
import { changeRows, readKeyedRows } from './change.ts'
import { joinKey } from './cursor.ts'
import { checkpoint, currentTransaction, passFence, passOpenFence, type Fenced } from './fence.ts'
import { changeInOne } from './one-statement.ts'
import { refuseKept } from './rows-kept.ts'
import { windowBeyond } from './stretch.ts'
import { isLast, noKey, striding } from './stride.ts'
import { nextStride, rowsAtOnce } from './strides.ts'
import { transactionEnded } from './transaction-ended.ts'
import { selectKeyAt } from './window.ts'

/** One stretch of a batch, and where the batch, or what of it comes before rows in quarantine, ends. */
export interface SubBatch {
  next: Stretch
  end: Key
}

type SubBatchOutcome = Outcome<Changed>

/** Rolls back what must not stay. */
export const isCommitted = ({ kind }: { kind: string }): boolean => kind === 'committed'

/** Chooses how a stretch is worked on: outside of a transaction, in one statement, or in a transaction of several. */
export async function commitStretch(database: Database, work: Work, sub: SubBatch): Promise<SubBatchOutcome> {
  const { change, effects } = work.bound
  if (effects === 'external') return followed(database, work, sub, runExternal(database, work, sub.next))
  if (change === undefined || !inOneStatement(work, sub.next)) {
    return followed(database, work, sub, runInTransaction(database, work, sub.next))
  }
  const done = await runInOne(database, work, { ...sub, change })
  return done.kind === 'hours' ? followed(database, work, sub, runInTransaction(database, work, sub.next)) : done
}

/** How long a sub-batch waits for one locked row while others wait for its own: about as long as its rows are to take. */
const lockMs = 100

/** The limit on waiting for a lock. A single row keeps nobody from anything else: it is waited for as long as ever. */
function lockLimit({ options }: Database, { rows }: Stretch): { lockMs?: number } {
  return rows > 1 ? { lockMs: Math.min(lockMs, options.timeouts.lockMs) } : {}
}

async function runInTransaction(database: Database, work: Work, next: Stretch): Promise<SubBatchOutcome> {
  const began = performance.now()
  return database.work.transaction<SubBatchOutcome>(
    async (transaction) => {
      const fenced = await passOpenFence(transaction, work, next.window.lower)
      if (fenced.kind !== 'passed') return fenced
      const slice = striding({ walk: work.walk, window: next.window, scope: work.scope }, next.stride)
      const { batch, tally } = openBatch(transaction, slice, work.signal, { counts: work.mayKeepRows })
      const returned = countOf(await work.bound.perform({ batch, startedAt: work.startedAt }))
      work.signal.throwIfAborted()
      const { matched, changed } = await tally()
      if (work.leavesNone) await refuseKept(transaction, slice)
      return settle(transaction, work, { next, fenced, began, tally: { matched, changed: returned ?? changed } })
    },
    lockLimit(database, next),
    isCommitted,
  )
}

/** To count rows inside of a statement costs a third of deleting them: that pays only where round trips cost more. */
const fewRows = 2_000

function inOneStatement({ inOne }: Work, next: Stretch): boolean {
  return inOne && rowsAtOnce(next) <= fewRows
}

/** The same in one statement, where the work is one. */
async function runInOne(
  database: Database,
  work: Work,
  { next, end, change }: SubBatch & { change: Change },
): Promise<SubBatchOutcome | { kind: 'hours' }> {
  const began = performance.now()
  const { walk, scope, claim, leaseMs } = work
  const { window, rows, stride } = next
  const slice = striding({ walk, window, scope }, stride)
  const moves = isLast(stride)
  const done = await changeInOne(database.work, {
    claim,
    from: window.lower,
    to: moves ? window.upper : window.lower,
    rowsSeen: moves ? rows : 0,
    leaseMs,
    ...lockLimit(database, next),
    change: (also) => changeRows(slice, change, also),
    ahead: moves && rows > 0 ? selectKeyAt({ walk, window: { lower: window.upper, upper: end }, count: rows }) : noKey,
  })
  if (done === undefined) return { kind: 'lost' }
  if (!done.here) return { kind: 'moved' }
  // Hours that were set meanwhile have to be looked at before each change.
  if (!done.moved) return done.wanted ? { kind: 'hours' } : { kind: 'stop' }
  const ahead = done.ahead === null ? undefined : { window: { lower: window.upper, upper: done.ahead }, rows }
  const tally = { matched: done.rows, changed: done.rows }
  return committed(next, { tally, began, walBytes: done.wal_bytes, limits: done, ahead })
}

/**
 * A sub-batch with effects outside of the database: the handler runs in no transaction, under the durable claim, and
 * the checkpoint follows. A crash between the two repeats the sub-batch, with the same idempotency keys.
 */
async function runExternal(database: Database, work: Work, next: Stretch): Promise<SubBatchOutcome> {
  const began = performance.now()
  const { walk, scope, signal, operationId } = work
  const open = await passOpenFence(database.control, work, next.window.lower)
  if (open.kind !== 'passed') return open
  const keyed = await readKeyedRows(database.work, { walk, window: next.window, scope })
  const keys = new Map(keyed.map(({ row, key }) => [row, `${operationId}:${joinKey(key)}`]))
  const keyOf = (row: object): string => keys.get(row as Record<string, unknown>) ?? notARow()
  const rows = keyed.map(({ row }) => row)
  const returned = countOf(await work.bound.performExternal({ rows, keyOf, signal, startedAt: work.startedAt }))
  signal.throwIfAborted()
  if (work.leavesNone) await refuseKept(database.work, { walk, window: next.window, scope })
  const tally = { matched: rows.length, changed: returned ?? rows.length }
  return database.work.transaction<SubBatchOutcome>(
    async (transaction) => {
      const fenced = await passFence(transaction, work.claim, next.window.lower)
      if (fenced.kind !== 'passed') return fenced
      return settle(transaction, work, { next, fenced, began, tally })
    },
    {},
    isCommitted,
  )
}

/** Moves the checkpoint in the given transaction. */
async function settle(
  transaction: Transaction,
  work: Work,
  { next, fenced, began, tally }: { next: Stretch; fenced: Fenced; began: number; tally: Tally },
): Promise<SubBatchOutcome> {
  const { window, rows, stride } = next
  const moves = isLast(stride)
  const kept = await checkpoint(transaction, work.claim, {
    to: moves ? window.upper : window.lower,
    seen: moves ? rows : 0,
    ...tally,
    busyMs: Math.round(performance.now() - began),
    leaseMs: work.leaseMs,
    walAt: fenced.wal_at,
    xact: work.bound.change === undefined ? fenced.xact : undefined,
  })
  if (kept === undefined) return notMoved(transaction, work, fenced)
  return committed(next, { tally, began, walBytes: kept.wal_bytes, limits: fenced, ahead: undefined })
}

/** Why the checkpoint did not move: `perform` has ended the transaction of its sub-batch, or the claim is lost. */
async function notMoved(transaction: Transaction, { walk }: Work, { xact }: Fenced): Promise<Refused> {
  if ((await currentTransaction(transaction)) === xact) return { kind: 'lost' }
  throw transactionEnded(walk.table)
}

function committed(
  next: Stretch,
  done: { tally: Tally; began: number; walBytes: number; limits: Changed['limits']; ahead: Stretch | undefined },
): SubBatchOutcome {
  const { matched: rowsMatched, changed: rowsChanged } = done.tally
  const rest = nextStride(next, rowsMatched)
  return {
    kind: 'committed',
    at: rest === undefined ? next.window.upper : next.window.lower,
    rowsSeen: rest === undefined ? next.rows : 0,
    rowsMatched,
    rowsChanged,
    rowsAtOnce: rowsAtOnce(next),
    elapsedMs: performance.now() - done.began,
    walBytes: done.walBytes,
    limits: done.limits,
    rest: rest !== undefined,
    next: rest ?? done.ahead,
  }
}

/** Looks for the window after this one while it is worked on: one statement does so by itself, and strides have one end. */
async function followed(
  database: Database,
  work: Work,
  { next, end }: SubBatch,
  running: Promise<SubBatchOutcome>,
): Promise<SubBatchOutcome> {
  const beyond = isLast(next.stride) ? windowBeyond(database, work, { after: next, end, size: next.rows }) : undefined
  const outcome = await running
  if (outcome.kind !== 'committed' || outcome.next !== undefined) return outcome
  return { ...outcome, next: await beyond }
}

function countOf(returned: unknown): number | undefined {
  if (returned === undefined) return undefined
  if (typeof returned === 'number' && Number.isSafeInteger(returned) && returned >= 0) return returned
  throw new TypeError('perform must return the number of changed rows, or nothing')
}

function notARow(): never {
  throw new TypeError('keyOf takes one of the rows that perform was given')
}
