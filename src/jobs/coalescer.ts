import { classify } from '../store/sqlstate.ts'

interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/**
 * Joins calls that come while a statement is under way into the next one. Each caller still waits for a commit of its
 * own item, so nothing is less durable; a hundred callers just share a hundredth of the round trips.
 */
export class Coalescer<Item, Result> {
  readonly #send: (items: Item[]) => Promise<Result[]>
  readonly #most: number
  #waiting: Waiting<Item, Result>[] = []
  #busy = false

  constructor(send: (items: Item[]) => Promise<Result[]>, most: number) {
    this.#send = send
    this.#most = most
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (!this.#busy) void this.#drain()
    })
  }

  async #drain(): Promise<void> {
    this.#busy = true
    // Callers of the same turn of the event loop go together.
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#most)
      await this.#settle(batch)
    }
    this.#busy = false
  }

  async #settle(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#send(batch.map(({ item }) => item))
      for (const [i, { resolve }] of batch.entries()) resolve(results[i] as Result)
    } catch (error) {
      // One item that the database refuses must not take the others with it; after a lost answer nobody may guess.
      if (batch.length === 1 || classify(error) === 'connection') for (const { reject } of batch) reject(error)
      else for (const one of batch) await this.#settle([one])
    }
  }
}
