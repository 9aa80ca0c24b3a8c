/** A queue in memory: first in, first out, without moving what is in it. */
export class Fifo<T> {
  #items: T[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** Puts an item before all others. */
  pushFirst(item: T): void {
    if (this.#head === 0) this.#items.unshift(item)
    else this.#items[--this.#head] = item
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined
    const item = this.#items[this.#head]
    this.#head += 1
    if (this.#head === this.#items.length) this.clear()
    return item
  }

  /** Empties it, and gives what was left. */
  clear(): T[] {
    const left = this.#items.slice(this.#head)
    this.#items = []
    this.#head = 0
    return left
  }
}
