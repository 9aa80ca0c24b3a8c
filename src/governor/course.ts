import { holdWaitMs } from './hold.ts'
import type { Limiter } from './limiter.ts'
import { loadOf, nextLoad } from './load.ts'
import { initialPace, nextPace, type Pace, type PaceState } from './pace.ts'
import { subBatchTime } from './probes/sub-batch-time.ts'
import type { Weight } from './probe.ts'
import { smooth, type Signal, type Smoothed } from './signal.ts'
import type { VacuumOptions } from './vacuum-care.ts'

/** What a course is about. */
export interface Governed {
  id: string
  name: string
  table: string
  vacuum?: VacuumOptions | undefined
}

/** An operation with a budget of dead rows stops for it. */
function ownLimits({ vacuum }: Governed): Readonly<Record<string, Partial<Weight>>> {
  if (vacuum?.deadRows === undefined) return {}
  return { deadRows: { soft: vacuum.deadRows / 2, hard: vacuum.deadRows, effect: 'hold' } }
}

/** The pace of one operation in this process: what it is now, and what it remembers. */
export class Course {
  readonly operation: Governed
  /** Batches of it that run here. */
  running = 0
  endedAtMs = performance.now()
  /** The reason that was written down with the hold that this process put on. */
  heldFor: string | undefined
  /** What was last said about its limiter, and when. */
  told: { probe: string | undefined; atMs: number } = { probe: undefined, atMs: -Infinity }
  #pace: Pace = { share: 1, limiter: undefined, held: false }
  #load = 0
  #followedAtMs = -Infinity
  #state: PaceState = initialPace
  #subBatch: Smoothed | undefined
  #waitMs: number | undefined

  constructor(operation: Governed) {
    this.operation = operation
  }

  get pace(): Pace {
    return this.#pace
  }

  get load(): number {
    return this.#load
  }

  get limiter(): Limiter | undefined {
    return this.#pace.limiter
  }

  /** Whether the probes have been heard at all. */
  get followed(): boolean {
    return this.#state !== initialPace
  }

  /** Takes in what the probes say. */
  follow(signals: readonly Signal[], moment: { nowMs: number; patienceMs: number }): void {
    const limits = ownLimits(this.operation)
    const own: Signal = { ...subBatchTime, value: this.#subBatch?.value, stale: false, said: undefined }
    const all = [...signals, own].map((signal) => ({ ...signal, ...limits[signal.name] }))
    const { state, pace } = nextPace(this.#state, all, moment)
    this.#state = state
    this.#pace = pace
    this.#load = nextLoad(this.#load, loadOf(all, state.smoothed), moment.nowMs - this.#followedAtMs)
    this.#followedAtMs = moment.nowMs
    if (!pace.held) this.#waitMs = undefined
  }

  /** Takes in how long a sub-batch took. */
  note(elapsedMs: number, nowMs: number): void {
    this.#subBatch = smooth(this.#subBatch, elapsedMs, nowMs)
  }

  /** How long the next hold is to last, unless it ends before: longer each time. */
  nextWaitMs(random: number): number {
    this.#waitMs = holdWaitMs(this.#waitMs, random)
    return this.#waitMs
  }
}
