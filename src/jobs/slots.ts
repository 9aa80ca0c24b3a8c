import { Fifo } from './fifo.ts'

/** So many transactional jobs run at once in a process, whatever its concurrency: each has a connection to itself. */
export const mostTransactions = 20

/** A number of places; whoever finds none waits for one, first come, first served. */
export class Slots {
  #free: number
  readonly #waiting = new Fifo<() => void>()

  constructor(count: number) {
    this.#free = count
  }

  /** Waits for a place. Each one that is taken must be given back. */
  async take(): Promise<void> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  give(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next()
  }
}
