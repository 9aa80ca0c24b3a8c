import { sleep } from '../std/sleep.ts'
import { classify, isLocked } from './sqlstate.ts'

interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
  /** Since when it is known that a lock of somebody else is in its way. */
  lockedSince?: number
}

/** Sends items in one statement, which waits for locks for at most so long. */
type Send<Item, Result> = (items: Item[], lockMs: number) => Promise<Result[]>

interface CoalescerOptions {
  /** Items per statement. */
  most: number
  /** Statements at a time. */
  flights: number
  /** How long an item that has to wait for a lock is tried again. */
  patienceMs: () => Promise<number>
}

/** A shared statement waits for a lock for so long: others wait for that statement. */
const sharedLockMs = 50
/** What is alone in waiting for a lock is tried again so often, and does not keep a connection meanwhile. */
const lockedEveryMs = 50
const lockedLockMs = 10

/** So many calls are many: then one statement at a time, as big as it gets, because most of what it costs is its own. */
const many = 16

/**
 * Joins calls that come while statements are under way into the next one. Each caller still waits for a commit of its
 * own item, so nothing is less durable; a hundred callers just share a hundredth of the round trips. Where order does
 * not matter, and callers are few, several statements may be under way: nobody then waits for somebody else's commit.
 * An item that waits for a lock of an open transaction leaves the others and waits alone.
 */
export class Coalescer<Item, Result> {
  readonly #send: Send<Item, Result>
  readonly #most: number
  readonly #flights: number
  readonly #patienceMs: () => Promise<number>
  #locked: Waiting<Item, Result>[] = []
  #retrying = false
  #waiting: Waiting<Item, Result>[] = []
  #flying = 0
  #aboard = 0
  #boarding = false

  constructor(send: Send<Item, Result>, { most, flights, patienceMs }: CoalescerOptions) {
    this.#send = send
    this.#most = most
    this.#flights = flights
    this.#patienceMs = patienceMs
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

  async #settle(batch: Waiting<Item, Result>[], lockMs = sharedLockMs): Promise<void> {
    try {
      const results = await this.#send(
        batch.map(({ item }) => item),
        lockMs,
      )
      for (const [i, { resolve }] of batch.entries()) resolve(results[i] as Result)
    } catch (error) {
      if (isLocked(error)) await this.#separate(batch, error)
      // One item that the database refuses must not take the others with it; after a lost answer nobody may guess.
      else if (batch.length === 1 || classify(error) === 'connection') for (const { reject } of batch) reject(error)
      else for (const one of batch) await this.#settle([one])
    }
  }

  /** Finds the items that have to wait for a lock, by halves; the others go on, in their order. */
  async #separate(batch: Waiting<Item, Result>[], error: unknown): Promise<void> {
    const [one] = batch
    if (one === undefined) return
    if (batch.length > 1) {
      const half = Math.ceil(batch.length / 2)
      await this.#settle(batch.slice(0, half))
      await this.#settle(batch.slice(half))
      return
    }
    one.lockedSince ??= performance.now()
    // Without a database there is nothing to wait for.
    const patienceMs = await this.#patienceMs().catch(() => 0)
    if (performance.now() - one.lockedSince >= patienceMs) {
      one.reject(error)
      return
    }
    this.#locked.push(one)
    if (!this.#retrying) void this.#retry()
  }

  /** Tries what waits for locks again and again, one at a time: one statement of all would wait for each lock. */
  async #retry(): Promise<void> {
    this.#retrying = true
    while (this.#locked.length > 0) {
      await sleep(lockedEveryMs)
      for (const one of this.#locked.splice(0)) await this.#settle([one], lockedLockMs)
    }
    this.#retrying = false
  }
}
