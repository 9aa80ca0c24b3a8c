import { setTimeout as wait } from 'node:timers/promises'
import { receiveMessageOnPort, type MessagePort } from 'node:worker_threads'
import { backoffMs } from '../std/backoff.ts'
import { errorRecord } from '../std/error-record.ts'
import { renew, type Claim } from '../store/batches.ts'
import { Pool } from '../store/pool.ts'
import { beat } from '../store/workers.ts'
import { loopSlot, monotonicMs, openBoard, type Board } from './lease-board.ts'
import type { FromRenewal, RenewalOrder, ToRenewal } from './renewal-thread.ts'

interface Watched extends Claim {
  slot: number
  progress: bigint
  movedAt: number
}

/** Extends the leases of one instance of Sluice, in the thread, on a connection of its own. */
export class Renewer {
  readonly #order: RenewalOrder
  readonly #port: MessagePort
  readonly #board: Board
  readonly #pool: Pool
  readonly #claims = new Map<string, Watched>()
  readonly #stopping = new AbortController()
  readonly #loop: { progress: bigint; movedAt: number }
  #drained = false

  constructor(order: RenewalOrder, port: MessagePort) {
    this.#order = order
    this.#port = port
    this.#board = openBoard(order.board)
    this.#loop = { progress: this.#board.progressOf(loopSlot), movedAt: monotonicMs() }
    const { database, leaseMs } = order
    // Settings go into each transaction: right with and without a pooler.
    this.#pool = new Pool({
      ...database,
      purpose: 'renewal',
      size: 1,
      pooled: true,
      timeouts: { ...database.timeouts, statementMs: Math.min(database.timeouts.statementMs, leaseMs) },
    })
    this.#pool.refuseReadOnly()
    // A thread that starts slowly may find that its worker has left already: a sign of life would bring its row back.
    for (let sent = receiveMessageOnPort(port); sent !== undefined; sent = receiveMessageOnPort(port)) {
      this.#hear(sent.message)
    }
    port.on('message', (message: ToRenewal) => this.#hear(message))
    port.once('close', () => this.#stopping.abort())
  }

  /** Until it is told to stop, or its line is cut. */
  async run(): Promise<void> {
    const { leaseMs } = this.#order
    let attempt = 0
    let failingSince = 0
    while (!this.#stopping.signal.aborted) {
      let waitMs = leaseMs / 3
      try {
        await this.#renewAll()
        if (attempt > 0) this.#tell({ kind: 'restored', afterMs: monotonicMs() - failingSince })
        attempt = 0
      } catch (error) {
        if (attempt === 0) failingSince = monotonicMs()
        attempt += 1
        waitMs = backoffMs(attempt, { baseMs: leaseMs / 30, maxMs: leaseMs / 3 }, Math.random())
        const { name, message } = errorRecord(error)
        this.#tell({ kind: 'failed', error: { name, message }, attempt, waitMs })
      }
      // A stop ends the wait; that is no error.
      await wait(waitMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined)
    }
    await this.#pool.end()
  }

  #hear(message: ToRenewal): void {
    if (message.kind === 'hold') {
      const { claim, slot } = message
      const seen = { progress: this.#board.progressOf(slot), movedAt: monotonicMs() }
      this.#claims.set(claim.batchId, { ...claim, slot, ...seen })
    } else if (message.kind === 'drop') this.#claims.delete(message.batchId)
    else this.#stopping.abort()
  }

  #tell(message: FromRenewal): void {
    this.#port.postMessage(message)
  }

  async #renewAll(): Promise<void> {
    const sentAt = monotonicMs()
    const asked = this.#watched(sentAt)
    if (this.#loopTurns(sentAt)) await this.#giveSign()
    if (asked.length > 0) {
      const { leaseMs } = this.#order
      const own = new Set((await renew(this.#pool, { claims: asked, leaseMs })).map(({ id }) => id))
      for (const { batchId, nonce } of asked) {
        // Dropped or claimed anew while the statement ran: the answer is about an older claim.
        if (own.has(batchId) || this.#claims.get(batchId)?.nonce !== nonce) continue
        this.#claims.delete(batchId)
        this.#tell({ kind: 'lost', batchId })
      }
    }
    this.#board.renewed(sentAt)
  }

  /** All claims, each with whether its work moves on; a lease whose work hangs is left to run out. */
  #watched(now: number): (Watched & { moving: boolean })[] {
    return [...this.#claims.values()].map((claim) => {
      const progress = this.#board.progressOf(claim.slot)
      if (progress !== claim.progress) [claim.progress, claim.movedAt] = [progress, now]
      return { ...claim, moving: now - claim.movedAt < this.#order.noProgressMs }
    })
  }

  /** Whether the event loop of the process still turns, as far as one can say: it may be busy for a good while. */
  #loopTurns(now: number): boolean {
    const progress = this.#board.progressOf(loopSlot)
    const loop = this.#loop
    if (progress !== loop.progress) [loop.progress, loop.movedAt] = [progress, now]
    return now - loop.movedAt < this.#order.noProgressMs
  }

  /** The sign of life. Who has asked for the end of this process is heard with its answer, once. */
  async #giveSign(): Promise<void> {
    const vitals = { memoryBytes: process.memoryUsage.rss(), loopLagMs: this.#board.takeLateness() }
    const [own] = await beat(this.#pool, { ...this.#order.worker, ...vitals })
    if (own?.draining !== true || this.#drained) return
    this.#drained = true
    this.#tell({ kind: 'drain' })
  }
}
