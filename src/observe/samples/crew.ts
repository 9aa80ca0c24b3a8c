import type { Crew, Shift } from '../../runtime/crew.ts'
import { Upkeep } from '../../runtime/upkeep.ts'
import { errorRecord } from '../../std/error-record.ts'
import { sleep } from '../../std/sleep.ts'
import type { Database } from '../../store/database.ts'
import { createSamplePartitions, dropSamplePartitions, writeSamples, type Counts } from '../../store/samples.ts'
import { sqlstate } from '../../store/sqlstate.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import type { Tally } from './tally.ts'

/** What a worker has to do with its samples. */
export interface SampleOptions {
  /** What the governor of this process sees. */
  signals: () => Counts['signals']
  /** Called by the one process that has taken the gauges of a span. */
  taken: () => Promise<void>
  /** Days that samples of hours are kept. */
  keepDays: number
}

interface Deps {
  database: Database
  telemetry: Telemetry
  tally: Tally
}

/** Behind the end of a span, so that who comes a little early does not count for the one before. */
const laterMs = 100
/** Processes do not all come at the same moment. */
const spreadMs = 900
const againMs = 5_000
/** Who stops does not wait longer for samples. */
const patienceMs = 1_000

/** Writes samples every ten seconds until the shift ends, and then once more. */
export class SampleCrew implements Crew {
  readonly #options: SampleOptions
  readonly #deps: Deps
  #number = 0
  #unwritten: Counts | undefined
  #told: Promise<void> | undefined
  #stopping: AbortSignal | undefined

  constructor(options: SampleOptions, deps: Deps) {
    this.#options = options
    this.#deps = deps
  }

  async work({ stopping, workerId }: Shift): Promise<void> {
    this.#stopping = stopping
    const upkeep = new Upkeep({ missing: async () => false, keep: () => this.#keepPartitions() })
    let waitMs = laterMs + Math.random() * spreadMs
    let failures = 0
    for (;;) {
      await sleep(waitMs, stopping)
      if (stopping.aborted) return this.#writeDoubtful(workerId)
      try {
        waitMs = (await this.#write(workerId)) + laterMs + Math.random() * spreadMs
        await upkeep.turn(performance.now(), Math.random())
        failures = 0
      } catch (error) {
        failures += 1
        waitMs = againMs * (1 + Math.random())
        if (failures === 1) this.#warn('Samples could not be written; they are kept and tried again', error)
      }
    }
  }

  /**
   * What may have been written, or not, is written under its number before the worker leaves. The rest is written by
   * whoever closes the process, when the last jobs have ended.
   */
  async #writeDoubtful(workerId: string): Promise<void> {
    const doubtful = this.#unwritten === undefined ? undefined : this.#write(workerId).catch(() => 0)
    const over = new AbortController()
    await Promise.race([Promise.all([doubtful, this.#told]), sleep(patienceMs, over.signal)])
    over.abort()
  }

  /** Writes what has been counted; gives how long the span that has begun still lasts. */
  async #write(workerId: string): Promise<number> {
    const { database, tally } = this.#deps
    const { signals, taken } = this.#options
    if (this.#unwritten === undefined) {
      this.#unwritten = { ...tally.take(), signals: signals() }
      this.#number += 1
    }
    // The same number until there is an answer: counts whose answer was lost are not added again.
    const order = { workerId, number: this.#number, counts: this.#unwritten }
    const [written] = await writeSamples(database.control, order).catch(async (error: unknown) => {
      if (sqlstate(error) !== '23514') throw error
      // Nobody has been there for days to make a partition for today.
      await createSamplePartitions(database.control)
      return writeSamples(database.control, order)
    })
    this.#unwritten = undefined
    // Not waited for: who is told may be slow to answer.
    if (written?.taken === true) this.#told ??= this.#tell(taken)
    return written?.next_ms ?? againMs
  }

  async #tell(taken: () => Promise<void>): Promise<void> {
    try {
      await taken()
    } catch (error) {
      this.#warn('Alerts could not be judged; the next span tries again', error)
    }
    this.#told = undefined
  }

  async #keepPartitions(): Promise<void> {
    const { control } = this.#deps.database
    await createSamplePartitions(control)
    await dropSamplePartitions(control, { keepDays: this.#options.keepDays })
  }

  #warn(what: string, error: unknown): void {
    if (this.#stopping?.aborted === true) return
    this.#deps.telemetry.emit('warning', { message: `${what}: ${errorRecord(error).message}` })
  }
}
