import { classify } from '../store/sqlstate.ts'

interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/** Fewer calls than this are not divided among flights. */
const worthDividing = 16

/**
 * Joins calls that come while statements are under way into the next one. Each caller still waits for a commit of its
 * own item, so nothing is less durable; a hundred callers just share a hundredth of the round trips. Where order does
 * not matter, several statements may be under way: while one commits, the next is made ready.
 */
export class Coalescer<Item, Result> {
  readonly #send: (items: Item[]) => Promise<Result[]>
  readonly #most: number
  readonly #flights: number
  #waiting: Waiting<Item, Result>[] = []
  #flying = 0
  #aboard = 0
  #boarding = false

  constructor(send: (items: Item[]) => Promise<Result[]>, { most, flights }: { most: number; flights: number }) {
    this.#send = send
    this.#most = most
    this.#flights = flights
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#board()
    })
  }

  /** Callers of the same turn of the event loop go together. */
  #board(): void {
    if (this.#boarding || this.#flying >= this.#flights) return
    this.#boarding = true
    setImmediate(() => {
      this.#boarding = false
      while (this.#waiting.length > 0 && this.#flying < this.#flights) void this.#fly()
    })
  }

  async #fly(): Promise<void> {
    const all = this.#waiting.length + this.#aboard
    const share = all < worthDividing ? all : Math.ceil(all / this.#flights)
    const batch = this.#waiting.splice(0, Math.min(share, this.#most))
    this.#flying += 1
    this.#aboard += batch.length
    await this.#settle(batch)
    this.#flying -= 1
    this.#aboard -= batch.length
    if (this.#waiting.length > 0) this.#board()
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
