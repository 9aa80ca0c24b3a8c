// The thread that extends leases; see leases.ts. It holds one connection and no work of its own.
import { setTimeout as wait } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { backoffMs } from '../std/backoff.ts'
import { errorRecord } from '../std/error-record.ts'
import { renew, type Claim } from '../store/batches.ts'
import { Pool } from '../store/pool.ts'
import { beat } from '../store/workers.ts'
import { loopSlot, monotonicMs, openBoard } from './lease-board.ts'
import type { FromRenewal, RenewalOrder, ToRenewal } from './leases.ts'

interface Watched extends Claim {
  slot: number
  progress: bigint
  movedAt: number
}

const { database, worker, leaseMs, noProgressMs, board: buffer } = workerData as RenewalOrder
const board = openBoard(buffer)
const claims = new Map<string, Watched>()
const stopping = new AbortController()
// A single connection needs no session settings: each renewal is one statement with an answer limit. "pooled" also
// keeps it right behind a transaction pooler.
const pool = new Pool({
  ...database,
  purpose: 'renewal',
  size: 1,
  pooled: true,
  timeouts: { ...database.timeouts, statementMs: Math.min(database.timeouts.statementMs, leaseMs) },
})

const loop = { progress: board.progressOf(loopSlot), movedAt: monotonicMs() }

/** Whether the event loop of the process still turns, as far as one can say: it may be busy for a good while. */
function loopTurns(now: number): boolean {
  const progress = board.progressOf(loopSlot)
  if (progress !== loop.progress) [loop.progress, loop.movedAt] = [progress, now]
  return now - loop.movedAt < noProgressMs
}

const tell = (message: FromRenewal): void => parentPort?.postMessage(message)

parentPort?.on('message', (message: ToRenewal) => {
  if (message.kind === 'hold') {
    const { claim, slot } = message
    claims.set(claim.batchId, { ...claim, slot, progress: board.progressOf(slot), movedAt: monotonicMs() })
  } else if (message.kind === 'drop') claims.delete(message.batchId)
  else stopping.abort()
})

/** All claims, each with whether its work moves on; a lease whose work hangs is left to run out. */
function watched(now: number): (Watched & { moving: boolean })[] {
  return [...claims.values()].map((claim) => {
    const progress = board.progressOf(claim.slot)
    if (progress !== claim.progress) [claim.progress, claim.movedAt] = [progress, now]
    return { ...claim, moving: now - claim.movedAt < noProgressMs }
  })
}

let drained = false

/** The sign of life. Who has asked for the end of this process is heard with its answer, once. */
async function giveSign(): Promise<void> {
  const vitals = { memoryBytes: process.memoryUsage.rss(), loopLagMs: board.takeLateness() }
  const [own] = await beat(pool, { ...worker, ...vitals })
  if (own?.draining !== true || drained) return
  drained = true
  tell({ kind: 'drain' })
}

async function renewAll(): Promise<void> {
  const sentAt = monotonicMs()
  const asked = watched(sentAt)
  if (loopTurns(sentAt)) await giveSign()
  if (asked.length > 0) {
    const own = new Set((await renew(pool, { claims: asked, leaseMs })).map(({ id }) => id))
    for (const { batchId, nonce } of asked) {
      // Dropped or claimed anew while the statement ran: the answer is about an older claim.
      if (own.has(batchId) || claims.get(batchId)?.nonce !== nonce) continue
      claims.delete(batchId)
      tell({ kind: 'lost', batchId })
    }
  }
  board.renewed(sentAt)
}

async function run(): Promise<void> {
  let attempt = 0
  let failingSince = 0
  while (!stopping.signal.aborted) {
    let waitMs = leaseMs / 3
    try {
      await renewAll()
      if (attempt > 0) tell({ kind: 'restored', afterMs: monotonicMs() - failingSince })
      attempt = 0
    } catch (error) {
      if (attempt === 0) failingSince = monotonicMs()
      attempt += 1
      waitMs = backoffMs(attempt, { baseMs: leaseMs / 30, maxMs: leaseMs / 3 }, Math.random())
      const { name, message } = errorRecord(error)
      tell({ kind: 'failed', error: { name, message }, attempt, waitMs })
    }
    // A stop ends the wait; that is no error.
    await wait(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined)
  }
}

await run()
await pool.end()
parentPort?.close()
