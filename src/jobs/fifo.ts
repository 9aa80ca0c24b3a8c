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
