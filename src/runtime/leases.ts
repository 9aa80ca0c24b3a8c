/**
 * Leases: how a process keeps what it has claimed.
 *
 * The model. A claim is a row with a nonce and a lease. The process that holds the nonce extends the lease every third
 * of its length; a lease that runs out is freed by any other worker. Extending happens in a thread of the process with
 * a connection of its own, so that neither a busy event loop nor a full pool can make a live process look dead.
 *
 * The invariants. Time never decides who owns a claim, only the nonce does: each transaction that changes something
 * compares it. A claim that a renewal does not give back is lost; its signal aborts, the work stops and reports
 * nothing. A process that has had no successful renewal for the trust window (two thirds of the lease, by its own
 * monotonic clock) starts no new transaction, because others may be about to take over.
 *
 * On a crash the thread dies with the process and the leases run out. A paused process (SIGSTOP, a sleeping VM) wakes
 * with leases that are gone; the fence refuses what it still tries. A handler that hangs makes no progress; its claim
 * is not extended beyond the no-progress limit. Nor does a process give a sign of life whose event loop has not turned
 * for that long.
 *
 * Decisions.
 * - The checkpoint extends the lease as well, because a batch that commits is alive. So renewal matters only for long
 *   sub-batches, and a slow renewal connection does not cost a busy worker its batch.
 * - Renewal skips locked rows. The row of a batch is locked while its sub-batch runs, and renewal must not wait for
 *   users' work. It reports which claims are still ours, extends those that are free, and leaves the others to their
 *   checkpoint. The lock also keeps a batch from being rescued.
 * - Leases use `clock_timestamp()` of the database, so the clocks of workers do not matter.
 * - The no-progress limit is `worker.noProgress`, 5 minutes by default; then the signal of the handler aborts.
 */
import type { Claim } from '../store/batches.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { boardBytes, loopSlot, monotonicMs, openBoard, slots, type Board } from './lease-board.ts'
import { openRenewal, type FromRenewal, type Renewal, type RenewalOrder, type ToRenewal } from './renewal-thread.ts'

/** A claim while it is held. */
export interface HeldClaim extends Claim {
  /** Aborts when the claim was lost. */
  readonly signal: AbortSignal
  /** Says that the work moves on. */
  progress(): void
  /** Whether it does. */
  moving(): boolean
  /** Ends the holding; the row must have been settled before. */
  drop(): void
}

/** The event loop shows so often that it turns. */
const pulseMs = 500

/** The claims of one instance in a process. */
export class Leases implements AsyncDisposable {
  readonly #order: Omit<RenewalOrder, 'board'>
  readonly #telemetry: Telemetry
  readonly #board: Board = openBoard(new SharedArrayBuffer(boardBytes))
  readonly #held = new Map<string, AbortController>()
  readonly #freeSlots = Array.from({ length: slots }, (_, slot) => slot)
  #line: Renewal | undefined
  #pulse: NodeJS.Timeout | undefined
  #onDrain: () => void = () => undefined

  constructor(order: Omit<RenewalOrder, 'board'>, telemetry: Telemetry) {
    this.#order = order
    this.#telemetry = telemetry
  }

  /**
   * Begins to extend. `onDeath` is called when the thread that does it ends by itself, which nothing should make it do;
   * `onDrain` when somebody has asked the process to end.
   */
  start({ onDeath, onDrain }: { onDeath: (error: Error) => void; onDrain: () => void }): void {
    this.#board.renewed(monotonicMs())
    this.#onDrain = onDrain
    this.#pulse = this.#beginPulse()
    this.#line = openRenewal({ ...this.#order, board: this.#board.buffer }, onDeath)
    this.#line.port.on('message', (message: FromRenewal) => this.#hear(message))
  }

  hold(claim: Claim): HeldClaim {
    const slot = this.#freeSlots.pop()
    if (slot === undefined) throw new Error(`more than ${slots} claims held at once`)
    const controller = new AbortController()
    this.#held.set(claim.batchId, controller)
    let movedAt = monotonicMs()
    const progress = (): void => {
      movedAt = monotonicMs()
      this.#board.progress(slot)
    }
    progress()
    this.#tell({ kind: 'hold', claim, slot })
    const drop = (): void => {
      if (!this.#held.delete(claim.batchId)) return
      this.#freeSlots.push(slot)
      this.#tell({ kind: 'drop', batchId: claim.batchId })
    }
    const moving = (): boolean => monotonicMs() - movedAt < this.#order.noProgressMs
    return { ...claim, signal: controller.signal, progress, moving, drop }
  }

  /** Milliseconds since the last renewal that is known to have succeeded was sent. */
  sinceRenewalMs(): number {
    return monotonicMs() - this.#board.lastRenewal()
  }

  /** False when leases may have run out without our knowing. */
  trusted(): boolean {
    return this.sinceRenewalMs() < (this.#order.leaseMs * 2) / 3
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const line = this.#line
    this.#line = undefined
    clearInterval(this.#pulse)
    await line?.leave()
  }

  #beginPulse(): NodeJS.Timeout {
    let due = monotonicMs() + pulseMs
    const pulse = (): void => {
      const now = monotonicMs()
      this.#board.late(now - due)
      due = now + pulseMs
      this.#board.progress(loopSlot)
    }
    return setInterval(pulse, pulseMs).unref()
  }

  #tell(message: ToRenewal): void {
    this.#line?.port.postMessage(message)
  }

  #hear(message: FromRenewal): void {
    switch (message.kind) {
      case 'lost':
        this.#held.get(message.batchId)?.abort(new Error('the claim belongs to another worker now'))
        return
      case 'failed':
        this.#telemetry.emit('connection.lost', { purpose: 'renewal', ...message })
        return
      case 'restored':
        this.#telemetry.emit('connection.restored', { purpose: 'renewal', afterMs: message.afterMs })
        return
      case 'drain':
        this.#onDrain()
        return
    }
  }
}
