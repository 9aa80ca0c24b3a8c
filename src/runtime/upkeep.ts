/** Partitions are kept about once an hour. */
const everyMs = 3_600_000
/** Workers that start together do it one after the other, within so long. */
const spreadMs = 60_000

interface Chores {
  /** Whether what is needed today is not there. */
  missing(): Promise<boolean>
  keep(): Promise<void>
}

/**
 * Keeps partitions now and then, and not all workers at the same moment: fifty that start together would wait for each
 * other's locks. What is missing today is made at once.
 */
export class Upkeep {
  readonly #chores: Chores
  #dueAt: number | undefined

  constructor(chores: Chores) {
    this.#chores = chores
  }

  /** Does what is due by now; `random` is in [0, 1). */
  async turn(now: number, random: number): Promise<void> {
    this.#dueAt ??= (await this.#chores.missing()) ? now : now + random * spreadMs
    if (now < this.#dueAt) return
    await this.#chores.keep()
    this.#dueAt = now + everyMs
  }
}
