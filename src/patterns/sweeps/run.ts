import { backoffMs } from '../../std/backoff.ts'
import { errorRecord } from '../../std/error-record.ts'
import { classify } from '../../store/sqlstate.ts'
import { failClaims, holdingClaims, releaseClaims } from '../../store/sweep-claims.ts'
import { holdSweep } from '../../store/sweeps.ts'
import { afterFailure, fresh, trips, type Recent } from './breaker.ts'
import { haveEffect } from './effect.ts'
import { finalise, type Unfinalised } from './finalise.ts'
import { those } from './claim.ts'
import type { ClaimedBatch, ClaimedRow, Place } from './place.ts'

/** The longest wait between attempts on one row. */
const longestMs = 300_000

/** Works on the rows of one claim, and leaves none of them in this process's hands. */
export class BatchRun {
  readonly #place: Place
  readonly #batch: ClaimedBatch
  #queue: ClaimedRow[]
  /** Failures since the last success: whether they are the rows' fault is not known yet. */
  #doubtful: Unfinalised[] = []
  #done: ClaimedRow[] = []
  #spent: Unfinalised[] = []
  #stopped: ClaimedRow[] = []
  #writing: Promise<void> | undefined
  #checking: Promise<void> | undefined
  /** When the claims were last known to be ours, by this process's own clock. */
  #sureAt = performance.now()
  readonly #running = new Set<AbortController>()
  #recent: Recent
  #tripped: string | undefined
  /** What the database said when something could not be written. */
  #broken: unknown

  constructor(place: Place, batch: ClaimedBatch, recent: Recent) {
    this.#place = place
    this.#batch = batch
    this.#queue = [...batch.rows]
    this.#recent = recent
  }

  /** Gives what was learnt of the effects, for the batch that follows. */
  async run(): Promise<Recent> {
    const { concurrency } = this.#place.definition
    const { ending } = this.#place.shift
    const stop = (): void => this.#running.forEach((one) => one.abort(ending.reason))
    ending.addEventListener('abort', stop)
    const lanes = Array.from({ length: Math.min(concurrency, this.#queue.length) }, () => this.#lane())
    await Promise.all(lanes)
    ending.removeEventListener('abort', stop)
    if (this.#tripped === undefined) this.#spent.push(...this.#doubtful)
    await this.#written()
    if (this.#broken !== undefined) this.#judgeBroken()
    if (this.#tripped === undefined) {
      await this.#release([...this.#queue, ...this.#stopped])
      return this.#recent
    }
    await this.#hold(this.#tripped)
    return { inARow: 0, trial: true }
  }

  async #lane(): Promise<void> {
    const { stopping } = this.#place.shift
    for (;;) {
      await this.#sure()
      if (stopping.aborted || this.#tripped !== undefined || this.#broken !== undefined) return
      const row = this.#queue.shift()
      if (row === undefined) return
      await this.#attempt(row)
    }
  }

  /** Waits until the process is taken for alive, and lets go of rows that are not ours any more: no effect for them. */
  async #sure(): Promise<void> {
    this.#checking ??= this.#check()
      .catch((error: unknown) => void (this.#broken ??= error))
      .finally(() => (this.#checking = undefined))
    await this.#checking
  }

  async #check(): Promise<void> {
    const { shift, database, telemetry, definition } = this.#place
    await shift.trusted(shift.stopping)
    const now = performance.now()
    if (now - this.#sureAt < shift.leaseMs / 2 || this.#queue.length === 0) return
    const keys = this.#queue.map(({ key }) => key)
    const held = await holdingClaims(database.control, { ...this.#batch.owner, keys })
    const before = this.#queue.length
    this.#queue = those(this.#queue, held)
    this.#sureAt = now
    if (before > this.#queue.length) {
      telemetry.emit('sweep.lost', { name: definition.name, count: before - this.#queue.length })
    }
  }

  async #attempt(row: ClaimedRow): Promise<void> {
    const outcome = await haveEffect(this.#place, row, this.#running)
    if (outcome.kind === 'stopped') return void this.#stopped.push(row)
    if (outcome.kind === 'failed') {
      this.#doubtful.push({ row, error: outcome.error })
      this.#recent = afterFailure(this.#recent)
      if (trips(this.#recent, this.#place.definition.breaker.failures)) {
        this.#tripped ??= `${this.#recent.inARow} effects in a row failed, the last with: ${outcome.error.message}`
      }
      return
    }
    this.#recent = fresh
    // The store works, so those failures were about their rows.
    this.#spent.push(...this.#doubtful.splice(0))
    this.#done.push(row)
    this.#writing ??= this.#write()
  }

  /** Writes what has ended meanwhile, as much at once as there is. */
  async #write(): Promise<void> {
    try {
      while (this.#done.length + this.#spent.length > 0) {
        const done = this.#done.splice(0)
        if (done.length > 0) this.#spent.push(...(await finalise(this.#place, this.#batch.owner, done)))
        await this.#fail(this.#spent.splice(0))
      }
    } catch (error) {
      this.#broken ??= error
    } finally {
      this.#writing = undefined
    }
  }

  async #written(): Promise<void> {
    while (this.#writing !== undefined || (this.#broken === undefined && this.#done.length + this.#spent.length > 0)) {
      this.#writing ??= this.#write()
      await this.#writing
    }
  }

  /** What can never be written is not the fault of a row: a right or a column is missing. */
  #judgeBroken(): void {
    if (classify(this.#broken) !== 'fatal') throw this.#broken
    this.#tripped = `rows cannot be finalised: ${errorRecord(this.#broken).message}`
  }

  async #fail(failed: readonly Unfinalised[]): Promise<void> {
    if (failed.length === 0) return
    const { definition, database, telemetry } = this.#place
    const { name } = definition
    const rows = failed.map(({ row: { key, attempts, unclaimed }, error }) => ({
      key,
      error,
      attempt: attempts + 1,
      delayMs: backoffMs(attempts + 1, { baseMs: 1_000, maxMs: longestMs }, Math.random()),
      // Without a claim that stands there is nothing to take over: another attempt would be a first one, without end.
      quarantine: unclaimed !== undefined || attempts + 1 >= definition.attempts,
    }))
    await failClaims(database.control, { ...this.#batch.owner, rows })
    for (const { key, error, attempt, delayMs, quarantine } of rows) {
      telemetry.emit('sweep.failed', { name, key, error, attempt, delayMs })
      if (quarantine) telemetry.emit('sweep.quarantined', { name, key, error })
    }
  }

  /** The effects fail, whatever the row: nobody goes on for a while, and no row is blamed. */
  async #hold(reason: string): Promise<void> {
    const { definition, database, telemetry } = this.#place
    const { name, breaker } = definition
    const { forMs } = breaker
    const [done] = await holdSweep(database.control, { name, reason, forMs, owner: this.#batch.owner })
    if (done === undefined) return
    if (done.held_until !== null) telemetry.emit('sweep.held', { name, reason, forMs })
    if (done.released > 0) telemetry.emit('sweep.released', { name, count: done.released })
  }

  async #release(rows: readonly ClaimedRow[]): Promise<void> {
    if (rows.length === 0) return
    const { definition, database, telemetry } = this.#place
    const keys = rows.map(({ key }) => key)
    const released = await releaseClaims(database.control, { ...this.#batch.owner, keys })
    if (released.length > 0) telemetry.emit('sweep.released', { name: definition.name, count: released.length })
  }
}
