import { backoffMs } from '../../std/backoff.ts'
import { errorRecord } from '../../std/error-record.ts'
import { sleep } from '../../std/sleep.ts'
import { classify } from '../../store/sqlstate.ts'
import { releaseAllClaims } from '../../store/sweep-claims.ts'
import { holdSweep, lookAtSweep } from '../../store/sweeps.ts'
import { fresh, type Recent } from './breaker.ts'
import { claimDue, claimOffered } from './claim.ts'
import type { ClaimedBatch, Place } from './place.ts'
import { BatchRun } from './run.ts'
import { claimStray } from './stray.ts'
import { isOpen } from '../../runtime/window.ts'

/** Works on one sweep in one process until the shift stops: batch after batch until drained, then it sleeps. */
export class SweepLoop {
  readonly #place: Place
  readonly #pollMs: number
  #recent: Recent = fresh
  #woken = new AbortController()
  /** When to look for due rows, by this process's own clock. */
  #scanAt = 0
  /** When to look for rows whose claim is lost. */
  #strayAt = 0
  #wantedAt: number | undefined
  /** When the database did not answer last. */
  #lostAt = Number.NEGATIVE_INFINITY
  #worked = 0
  #offeredFirst = true

  constructor(place: Place, pollMs: number) {
    this.#place = place
    this.#pollMs = pollMs
  }

  /** Says that there may be something to do. */
  wake(): void {
    this.#scanAt = 0
    this.#woken.abort()
  }

  async work(): Promise<void> {
    const { shift } = this.#place
    const { stopping } = shift
    stopping.addEventListener('abort', () => this.wake())
    for (let failures = 0; !stopping.aborted;) {
      try {
        await shift.trusted(stopping)
        const waitMs = stopping.aborted ? 0 : await this.#round()
        failures = 0
        if (waitMs > 0) await this.#idle(waitMs)
      } catch (error) {
        if (await this.#isHeldFor(error)) continue
        failures += 1
        if (classify(error) === 'connection') this.#lostAt = performance.now()
        const waitMs = backoffMs(failures, { baseMs: 200, maxMs: 10_000 }, Math.random())
        const lost = { purpose: 'sweeps', error: errorRecord(error), attempt: failures, waitMs }
        this.#place.telemetry.emit('connection.lost', lost)
        await sleep(waitMs, stopping)
      }
    }
  }

  /** Holds the sweep when the database answers, and refuses: its definition does not fit the table, or a row of it. */
  async #isHeldFor(error: unknown): Promise<boolean> {
    const { definition, database, telemetry } = this.#place
    if (!['fatal', 'rows'].includes(classify(error))) return false
    const { name, breaker } = definition
    const reason = `the database refuses what the sweep asks for: ${errorRecord(error).message}`
    try {
      await holdSweep(database.control, { name, reason, forMs: breaker.forMs, owner: null })
    } catch {
      return false
    }
    telemetry.emit('sweep.held', { name, reason, forMs: breaker.forMs })
    return true
  }

  /** One claim and the work on it. Gives how long to wait before the next one. */
  async #round(): Promise<number> {
    const { definition, database, shift } = this.#place
    const { name } = definition
    const [look] = await lookAtSweep(database.control, { name, workerId: shift.workerId, leaseMs: shift.leaseMs })
    if (look === undefined) return this.#pollMs
    // Between two rounds this worker has nothing: the answer to a claim was lost, or to a release.
    if (look.mine) await releaseAllClaims(database.control, { sweep: name, workerId: shift.workerId })
    this.#hear(look.wanted_at)
    if (look.held_ms > 0) {
      this.#recent = { inARow: 0, trial: true }
      return Math.min(look.held_ms, this.#pollMs)
    }
    if (definition.window !== undefined && !isOpen(definition.window, look.now)) return this.#pollMs
    const batch = await this.#claim(look.offered)
    if (batch === undefined) return this.#pollMs
    this.#place.telemetry.emit('sweep.claimed', { name, count: batch.rows.length })
    this.#worked += batch.rows.length
    this.#recent = await new BatchRun(this.#place, batch, this.#recent).run()
    return 0
  }

  /** Until all who live have had the time to say so. */
  get #afterOutage(): boolean {
    return performance.now() - this.#lostAt < this.#place.shift.leaseMs
  }

  /** A run that somebody asked for since the last look. */
  #hear(wantedAt: Date | null): void {
    const at = wantedAt?.getTime() ?? 0
    if (this.#wantedAt !== undefined && at > this.#wantedAt) [this.#scanAt, this.#strayAt] = [0, 0]
    this.#wantedAt = at
  }

  /** What was claimed before and what never was, in turn; on trial a new row first, and one alone. */
  async #claim(offered: boolean): Promise<ClaimedBatch | undefined> {
    const { trial } = this.#recent
    const limit = trial ? 1 : this.#place.definition.batch
    const offeredFirst = !trial && this.#offeredFirst
    this.#offeredFirst = !this.#offeredFirst
    const known = async (): Promise<ClaimedBatch | undefined> =>
      offered ? filled(await claimOffered(this.#place, { limit, outage: this.#afterOutage })) : undefined
    const unknown = (): Promise<ClaimedBatch | undefined> => this.#scan(limit)
    return offeredFirst ? ((await known()) ?? unknown()) : ((await unknown()) ?? known())
  }

  async #scan(limit: number): Promise<ClaimedBatch | undefined> {
    if (performance.now() < this.#scanAt) return undefined
    for (;;) {
      const claimed = await claimDue(this.#place, limit)
      if (claimed.rows.length > 0) return claimed
      // Others were quicker, and may have left some.
      if (!claimed.seen || this.#place.shift.stopping.aborted) break
    }
    const stray = await this.#stray(limit)
    if (stray !== undefined) return stray
    const { name, intervalMs } = this.#place.definition
    this.#scanAt = performance.now() + intervalMs
    if (this.#worked > 0) this.#place.telemetry.emit('sweep.drained', { name, rows: this.#worked })
    this.#worked = 0
    return undefined
  }

  /** Seldom, as it reads more than an index: when a worker begins, and then once an hour. */
  async #stray(limit: number): Promise<ClaimedBatch | undefined> {
    const now = performance.now()
    if (now < this.#strayAt) return undefined
    const stray = await claimStray(this.#place, limit)
    if (stray.rows.length === 0) this.#strayAt = now + strayEveryMs * (0.5 + Math.random())
    return filled(stray)
  }

  async #idle(waitMs: number): Promise<void> {
    await sleep(waitMs * (0.8 + Math.random() * 0.4), this.#woken.signal)
    if (this.#woken.signal.aborted) this.#woken = new AbortController()
  }
}

const strayEveryMs = 3_600_000

const filled = (batch: ClaimedBatch): ClaimedBatch | undefined => (batch.rows.length > 0 ? batch : undefined)
