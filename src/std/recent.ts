/**
 * What was found out about things of which there are ever new ones, such as operations: of more than `most` those are
 * forgotten that were not asked for longest. For what can be found out again.
 */
export class Recent<V> {
  readonly #most: number
  readonly #kept = new Map<string, V>()

  constructor(most = 200) {
    this.#most = most
  }

  get size(): number {
    return this.#kept.size
  }

  get(key: string): V | undefined {
    const value = this.#kept.get(key)
    if (value !== undefined) this.set(key, value)
    return value
  }

  set(key: string, value: V): void {
    this.#kept.delete(key)
    this.#kept.set(key, value)
    for (const oldest of this.#kept.keys()) if (this.#kept.size > this.#most) this.#kept.delete(oldest)
  }

  delete(key: string): void {
    this.#kept.delete(key)
  }
}
