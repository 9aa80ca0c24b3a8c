import type { Sql } from 'sql-template-tag'
import * as batches from '../store/batches.ts'
import type { Connection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import type { Key } from '../store/operations.ts'
import type { Transaction } from '../store/pool.ts'
import { changeRows, readKeyedRows, type Change } from '../targets/change.ts'
import { joinKey } from '../targets/cursor.ts'
import { changeInOne } from '../targets/one-statement.ts'
import { isLast, noKey, striding, type Stride } from '../targets/stride.ts'
import { countRows, keyAt, selectKeyAt, type KeyWindow, type Walk } from '../targets/window.ts'
import { openBatch, type Tally } from './batch.ts'
import type { BoundOperation } from './definition.ts'
import { refuseKept } from './rows-kept.ts'
import { rowsAtOnce, type Strides } from './stride.ts'
import { transactionEnded } from './transaction-ended.ts'

/** The fence refused: another worker owns the batch. */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost'
}

/** The batch is ours, but its checkpoint is not where this sub-batch was to begin: look again and go on from there. */
export class CheckpointMoved extends Error {
  override readonly name = 'CheckpointMoved'
}

/** The operation is to stop: paused, cancelled, held by another lane, or its definition disabled. */
export class StopAsked extends Error {
  override readonly name = 'StopAsked'
}

/** The window of the operation has closed. */
export class WindowClosed extends Error {
  override readonly name = 'WindowClosed'
}

/** What all sub-batches of a batch share. */
export interface SubBatchWork {
  database: Database
  claim: batches.Claim
  operationId: string
  /** 2: the pass that looks for rows which the first did not meet. */
  pass: number
  walk: Walk
  scope: Sql | undefined
  bound: BoundOperation
  /** Whether work with such a window may go on at that moment. */
  isOpen: (window: string | null, now: Date) => boolean
  startedAt: string
  leaseMs: number
  signal: AbortSignal
  /** Aborts rests between sub-batches. */
  resting: AbortSignal
  /** The last key of the batch, or of its rows before the next ones in quarantine. */
  end: Key
  /** What a second pass leaves alone: rows that the first has isolated and that are not passed yet, in their order. */
  quarantined: readonly KeyWindow[]
  /** Whether nothing needs to be asked between the fence and the change, so that both may be one statement. */
  inOne: boolean
  /** A trigger or a rule may leave rows as they are: what was changed has to be looked at. */
  mayKeepRows: boolean
  /** No row may be in scope after it was processed, and no later pass would find it: see rows-kept. */
  leavesNone: boolean
  /** Whether a sub-batch is not to wait until its commit is on disk. */
  commitLater: boolean
  /** In how many transactions a window is done; see strides. */
  strides: Strides
  /** What the second pass must not miss, where it may read from a replica; else undefined. */
  since: string | undefined
}

/** The next stretch of a batch and how many rows it has. */
export interface NextWindow {
  window: KeyWindow
  rows: number
  /** Only these rows of it; the checkpoint moves with the last of them. */
  stride?: Stride | undefined
}

/**
 * The next window of up to `size` rows after the checkpoint. The walk is over keys alone: a filter here would make the
 * database search on and on for matches. Outside of the transaction, to keep that one short.
 */
export async function nextWindow(
  { database, walk }: Pick<SubBatchWork, 'database' | 'walk'>,
  { lower, upper, size }: KeyWindow & { size: number },
  by: Connection = database.work,
): Promise<NextWindow> {
  const key = await keyAt(by, { walk, window: { lower, upper }, count: size })
  if (key !== null) return { window: { lower, upper: key }, rows: size }
  return { window: { lower, upper }, rows: await countRows(by, walk, { lower, upper }) }
}

/** The window behind one that is about to be worked on, looked for meanwhile; undefined: there is none, or not yet. */
export async function windowBeyond(
  work: SubBatchWork,
  { window }: NextWindow,
  size: number,
): Promise<NextWindow | undefined> {
  if (sameKey(window.upper, work.end)) return undefined
  const beyond = { lower: window.upper, upper: work.end, size }
  // What cannot be found now is looked for again in its turn, and then errors count.
  return nextWindow(work, beyond, work.database.control).catch(() => undefined)
}

/** What one sub-batch did, and the limits that hold for the next one. */
export interface SubBatchResult {
  rowsMatched: number
  rowsChanged: number
  elapsedMs: number
  /** WAL that was written meanwhile, by whomever. */
  walBytes: number
  /** The next window of the same size, if that is known already. */
  ahead: NextWindow | undefined
  limits: Pick<batches.Fenced, 'pace' | 'sub_batch_size' | 'run_window'>
}

/**
 * One sub-batch: the claim is locked by its nonce, the rows change, the checkpoint moves, all in one transaction. A
 * crash at any point repeats no row and skips none; a stale worker commits nothing.
 */
export async function runSubBatch(work: SubBatchWork, next: NextWindow): Promise<SubBatchResult> {
  if (work.bound.effects === 'external') return runExternal(work, next)
  if (work.bound.change !== undefined && inOneStatement(work, next)) return runInOne(work, next, work.bound.change)
  return runInTransaction(work, next)
}

/** How long a sub-batch waits for one locked row while others wait for its own: about as long as its rows are to take. */
const lockMs = 100

/** The limit on waiting for a lock. A single row keeps nobody from anything else: it is waited for as long as ever. */
function lockLimit({ database }: SubBatchWork, { rows }: NextWindow): { lockMs?: number } {
  return rows > 1 ? { lockMs: Math.min(lockMs, database.options.timeouts.lockMs) } : {}
}

async function runInTransaction(work: SubBatchWork, next: NextWindow): Promise<SubBatchResult> {
  const began = performance.now()
  return work.database.work.transaction(
    async (transaction) => {
      const fenced = await passOpenFence(transaction, work, next.window.lower)
      if (work.commitLater) await batches.commitLater(transaction)
      const slice = striding({ walk: work.walk, window: next.window, scope: work.scope }, next.stride)
      const { batch, tally } = openBatch(transaction, slice, work.signal, { counts: work.mayKeepRows })
      const returned = countOf(await work.bound.perform({ batch, startedAt: work.startedAt }))
      work.signal.throwIfAborted()
      const { matched, changed } = await tally()
      if (work.leavesNone) await refuseKept(transaction, slice)
      return settle(transaction, work, { next, fenced, began, tally: { matched, changed: returned ?? changed } })
    },
    lockLimit(work, next),
  )
}

/** To count rows inside of a statement costs a third of deleting them: that pays only where round trips cost more. */
const fewRows = 2_000

function inOneStatement({ bound, inOne }: SubBatchWork, next: NextWindow): boolean {
  return bound.change !== undefined && inOne && rowsAtOnce(next) <= fewRows
}

/** Whether the end of the next window has to be looked for: one statement does so by itself, and strides have one end. */
export function isFollowed(work: SubBatchWork, next: NextWindow): boolean {
  return isLast(next.stride) && !inOneStatement(work, next)
}

/** The same in one statement, where the work is one. */
async function runInOne(work: SubBatchWork, next: NextWindow, change: Change): Promise<SubBatchResult> {
  const began = performance.now()
  const { walk, scope, claim, leaseMs } = work
  const { window, rows, stride } = next
  const slice = striding({ walk, window, scope }, stride)
  const moves = isLast(stride)
  const done = await changeInOne(work.database.work, {
    claim,
    from: window.lower,
    to: moves ? window.upper : window.lower,
    rowsSeen: moves ? rows : 0,
    leaseMs,
    ...lockLimit(work, next),
    commit: work.commitLater ? 'later' : 'wait',
    change: (also) => changeRows(slice, change, also),
    ahead: moves ? selectKeyAt({ walk, window: { lower: window.upper, upper: work.end }, count: rows }) : noKey,
  })
  if (done === undefined) throw new ClaimLost()
  if (!done.here) throw new CheckpointMoved()
  if (!done.moved) throw new StopAsked()
  const elapsedMs = performance.now() - began
  const { rows: changed, wal_bytes: walBytes } = done
  const ahead = done.ahead === null ? undefined : { window: { lower: window.upper, upper: done.ahead }, rows }
  return { rowsMatched: changed, rowsChanged: changed, elapsedMs, walBytes, ahead, limits: done }
}

/**
 * A sub-batch with effects outside of the database: the handler runs in no transaction, under the durable claim, and
 * the checkpoint follows. A crash between the two repeats the sub-batch, with the same idempotency keys.
 */
async function runExternal(work: SubBatchWork, next: NextWindow): Promise<SubBatchResult> {
  const began = performance.now()
  const { database, walk, scope, signal, operationId } = work
  await passOpenFence(database.control, work, next.window.lower)
  const keyed = await readKeyedRows(database.work, { walk, window: next.window, scope })
  const keys = new Map(keyed.map(({ row, key }) => [row, `${operationId}:${joinKey(key)}`]))
  const keyOf = (row: object): string => keys.get(row as Record<string, unknown>) ?? notARow()
  const rows = keyed.map(({ row }) => row)
  const returned = countOf(await work.bound.performExternal({ rows, keyOf, signal, startedAt: work.startedAt }))
  signal.throwIfAborted()
  if (work.leavesNone) await refuseKept(database.work, { walk, window: next.window, scope })
  const tally = { matched: rows.length, changed: returned ?? rows.length }
  return database.work.transaction(async (transaction) => {
    const fenced = await passFence(transaction, work, next.window.lower)
    return settle(transaction, work, { next, fenced, began, tally })
  })
}

/** Locks the claim, and refuses when it is not ours, not where we thought, or not wanted. */
export async function passFence(
  connection: Pick<Transaction, 'query' | 'schema'>,
  { claim }: Pick<SubBatchWork, 'claim'>,
  lower: Key | null,
): Promise<batches.Fenced> {
  const [fenced] = await batches.fence(connection, claim)
  if (fenced === undefined) throw new ClaimLost()
  if (!sameKey(fenced.checkpoint, lower)) throw new CheckpointMoved()
  if (fenced.disabled || (fenced.status !== 'active' && fenced.status !== 'verifying')) throw new StopAsked()
  return fenced
}

/** The fence for whoever is about to begin: what has begun may be written down after its window has closed. */
async function passOpenFence(
  connection: Pick<Transaction, 'query' | 'schema'>,
  work: Pick<SubBatchWork, 'claim' | 'isOpen'>,
  lower: Key | null,
): Promise<batches.Fenced> {
  const fenced = await passFence(connection, work, lower)
  if (!work.isOpen(fenced.run_window, fenced.now)) throw new WindowClosed()
  return fenced
}

/** Moves the checkpoint in the given transaction. */
async function settle(
  transaction: Transaction,
  work: SubBatchWork,
  done: { next: NextWindow; fenced: batches.Fenced; began: number; tally: Tally },
): Promise<SubBatchResult> {
  const { window, rows, stride } = done.next
  const moves = isLast(stride)
  const { matched: rowsMatched, changed: rowsChanged } = done.tally
  const elapsedMs = performance.now() - done.began
  const moved = {
    ...work.claim,
    at: moves ? window.upper : window.lower,
    rowsSeen: moves ? rows : 0,
    rowsMatched,
    rowsChanged,
    elapsedMs: Math.round(elapsedMs),
    leaseMs: work.leaseMs,
    walAt: done.fenced.wal_at,
    xact: work.bound.change === undefined ? done.fenced.xact : undefined,
  }
  const [kept] = await batches.checkpoint(transaction, moved)
  if (kept === undefined) throw await notMoved(transaction, work, done.fenced)
  return { rowsMatched, rowsChanged, elapsedMs, walBytes: kept.wal_bytes, ahead: undefined, limits: done.fenced }
}

/** Why the checkpoint did not move: `perform` has ended the transaction of its sub-batch, or the claim is lost. */
async function notMoved(transaction: Transaction, { walk }: SubBatchWork, { xact }: batches.Fenced): Promise<Error> {
  const [now] = await batches.currentTransaction(transaction)
  if (now?.xact === xact) return new ClaimLost()
  return transactionEnded(walk.table)
}

/** Passes over a window in which there is nothing to do; gives the time that it took since `began`. */
export async function passOver(work: SubBatchWork, { window, rows }: NextWindow, began: number): Promise<number> {
  return work.database.work.transaction(async (transaction) => {
    const { wal_at: walAt } = await passOpenFence(transaction, work, window.lower)
    const elapsedMs = Math.round(performance.now() - began)
    const counts = { rowsSeen: rows, rowsMatched: 0, rowsChanged: 0, elapsedMs }
    const moved = { ...work.claim, at: window.upper, ...counts, leaseMs: work.leaseMs, walAt }
    const kept = await batches.checkpoint(transaction, moved)
    if (kept.length !== 1) throw new ClaimLost()
    return elapsedMs
  })
}

/** Whether two keys are the same text; order is for the database alone to say. */
export function sameKey(a: Key | null, b: Key | null): boolean {
  return a === b || (a !== null && b !== null && a.length === b.length && a.every((part, i) => part === b[i]))
}

function countOf(returned: unknown): number | undefined {
  if (returned === undefined) return undefined
  if (typeof returned === 'number' && Number.isSafeInteger(returned) && returned >= 0) return returned
  throw new TypeError('perform must return the number of changed rows, or nothing')
}

function notARow(): never {
  throw new TypeError('keyOf takes one of the rows that perform was given')
}
