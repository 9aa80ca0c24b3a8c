import type { Sql } from 'sql-template-tag'
import * as batches from '../store/batches.ts'
import type { Key } from '../store/operations.ts'
import type { Pool } from '../store/pool.ts'
import { countRows, keyAt, type KeyWindow, type Walk } from '../targets/window.ts'
import { openBatch } from './batch.ts'
import type { BoundOperation } from './define.ts'

/** The fence refused: another worker owns the batch. */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost'
}

/** The batch is ours, but its checkpoint is not where this sub-batch was to begin: look again and go on from there. */
export class CheckpointMoved extends Error {
  override readonly name = 'CheckpointMoved'
}

/** What all sub-batches of a batch share. */
export interface SubBatchWork {
  pool: Pool
  claim: batches.Claim
  walk: Walk
  scope: Sql | undefined
  bound: BoundOperation
  startedAt: string
  leaseMs: number
  signal: AbortSignal
}

/** The next stretch of a batch and how many rows it has. */
export interface NextWindow {
  window: KeyWindow
  rows: number
}

/**
 * The next window of up to `size` rows after the checkpoint. The walk is over keys alone: a filter here would make the
 * database search on and on for matches. Outside of the transaction, to keep that one short.
 */
export async function nextWindow(pool: Pool, walk: Walk, rest: KeyWindow & { size: number }): Promise<NextWindow> {
  const { lower, upper, size } = rest
  const key = await keyAt(pool, { walk, window: { lower, upper }, count: size })
  if (key !== null) return { window: { lower, upper: key }, rows: size }
  return { window: { lower, upper }, rows: await countRows(pool, walk, { lower, upper }) }
}

/** What one sub-batch did. */
export interface SubBatchResult {
  rowsChanged: number
  elapsedMs: number
}

/**
 * One sub-batch: the claim is locked by its nonce, the rows change, the checkpoint moves, all in one transaction. A
 * crash at any point repeats no row and skips none; a stale worker commits nothing.
 */
export async function runSubBatch(work: SubBatchWork, next: NextWindow): Promise<SubBatchResult> {
  const { pool, claim, walk, scope, bound, startedAt, leaseMs, signal } = work
  const began = performance.now()
  return pool.transaction(async (transaction) => {
    const [fenced] = await batches.fence(transaction, claim)
    if (fenced === undefined) throw new ClaimLost()
    if (!sameKey(fenced.checkpoint, next.window.lower)) throw new CheckpointMoved()
    const { batch, changed } = openBatch(transaction, { walk, window: next.window, scope }, signal)
    const returned = await bound.perform(batch, startedAt)
    signal.throwIfAborted()
    const rowsChanged = countOf(returned) ?? changed()
    const elapsedMs = Math.round(performance.now() - began)
    const moved = { ...claim, at: next.window.upper, rowsSeen: next.rows, rowsChanged, elapsedMs, leaseMs }
    const kept = await batches.checkpoint(transaction, moved)
    if (kept.length !== 1) throw new ClaimLost()
    return { rowsChanged, elapsedMs }
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
