import type { Crew } from '../../runtime/crew.ts'
import { sleep } from '../../std/sleep.ts'
import type { Database } from '../../store/database.ts'
import { writeSamples } from '../../store/samples.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { SampleCrew, type SampleOptions } from './crew.ts'
import { Tally } from './tally.ts'

const everyMs = 10_000
/** Who closes a process does not wait longer for its last samples. */
const patienceMs = 1_000

/** Counts the events of a process. A worker writes them in its shift; one that only enqueues, ten seconds later. */
export class Recorder {
  readonly #tally = new Tally()
  readonly #database: () => Promise<Database>
  readonly #telemetry: Telemetry
  #timer: NodeJS.Timeout | undefined
  #working = false

  constructor({ database, telemetry }: { database: () => Promise<Database>; telemetry: Telemetry }) {
    this.#database = database
    this.#telemetry = telemetry
    telemetry.onAny((event) => {
      this.#tally.note(event)
      if (!this.#tally.empty && !this.#working) this.#arm()
    })
  }

  /** Who writes them in a worker, for as long as its shift lasts. */
  crew(options: SampleOptions, database: Database): Crew {
    const crew = new SampleCrew(options, { database, telemetry: this.#telemetry, tally: this.#tally })
    return { work: (shift) => this.#whileWorking(() => crew.work(shift)) }
  }

  /** Writes what is left, for a while. */
  async close(database: Database): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#working = false
    const over = new AbortController()
    await Promise.race([this.#write(database), sleep(patienceMs, over.signal)])
    over.abort()
  }

  async #whileWorking(work: () => Promise<void>): Promise<void> {
    this.#working = true
    try {
      await work()
    } finally {
      // A worker that was drained leaves a process that may still enqueue.
      this.#working = false
      if (!this.#tally.empty) this.#arm()
    }
  }

  #arm(): void {
    // Not worth keeping a process alive for.
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      void this.#database().then(
        (database) => this.#write(database),
        () => undefined,
      )
    }, everyMs).unref()
  }

  async #write(database: Database): Promise<void> {
    if (this.#tally.empty) return
    const counts = { ...this.#tally.take(), signals: [] }
    // Samples are for charts: nobody who enqueues or closes a process is troubled for them.
    await writeSamples(database.control, { workerId: null, number: 0, counts }).catch(() => undefined)
  }
}
