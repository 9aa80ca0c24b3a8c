/** Callers with the same key stand in line; those with different keys do not know of each other. */
export class Lines {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs `work` when all who came before with this key are done, however they ended; gives up after a while. */
  async wait<T>(key: string, work: () => Promise<T>, patience: { limitMs: number; late: () => Error }): Promise<T> {
    const before = this.#last.get(key)
    const mine = before === undefined ? work() : after(before, work, patience)
    this.#last.set(key, mine)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key)
    }
  }
}

async function after<T>(
  before: Promise<unknown>,
  work: () => Promise<T>,
  { limitMs, late }: { limitMs: number; late: () => Error },
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const end = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), limitMs)
  })
  const done = before.then(
    () => undefined,
    () => undefined,
  )
  await Promise.race([done, end]).finally(() => clearTimeout(timer))
  return work()
}
