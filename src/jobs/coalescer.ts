import { classify } from '../store/sqlstate.ts'

interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/** So many calls are many: then one statement at a time, as big as it gets, because most of what it costs is its own. */
const many = 16

/**
 * Joins calls that come while statements are under way into the next one. Each caller still waits for a commit of its
 * own item, so nothing is less durable; a hundred callers just share a hundredth of the round trips. Where order does
 * not matter, and callers are few, several statements may be under way: nobody then waits for somebody else's commit.
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

  /**
   * Callers of the same turn of the event loop go together. Who comes when nothing is under way waits for those only
   * whose turn it is already, and for no other event.
   */
  #board(): void {
    if (this.#boarding || this.#full()) return
    this.#boarding = true
    const depart = (): void => {
      this.#boarding = false
      while (this.#waiting.length > 0 && !this.#full()) void this.#fly()
    }
    if (this.#flying === 0) process.nextTick(depart)
    else setImmediate(depart)
  }

  #full(): boolean {
    const most = this.#waiting.length + this.#aboard < many ? this.#flights : 1
    return this.#flying >= most
  }

  async #fly(): Promise<void> {
    const batch = this.#waiting.splice(0, this.#most)
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
