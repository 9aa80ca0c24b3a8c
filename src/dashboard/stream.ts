/** Reads what is watched, as text. */
export type Read = () => Promise<string>

/** Gets each new text. */
export type Listener = (text: string) => void

interface Watched {
  listeners: Set<Listener>
  read: Read
  last: string | undefined
  timer: NodeJS.Timeout | undefined
}

/** Between two reads. */
const everyMs = 2_000
/** A read that takes long makes the pause after it so many times longer: nothing is looked at for more of the time. */
const restPerRead = 50

/**
 * Reads for all who watch the same thing: the database is asked once per interval, however many pages are open, and
 * not at all when none is.
 */
export class Broadcast {
  readonly #watched = new Map<string, Watched>()
  readonly #everyMs: number

  constructor({ every = everyMs }: { every?: number } = {}) {
    this.#everyMs = every
  }

  /** How many different things are watched. */
  get size(): number {
    return this.#watched.size
  }

  /** Calls `listener` with what is there, and with each change. Gives the function that ends it. */
  watch(key: string, read: Read, listener: Listener): () => void {
    const there = this.#watched.get(key)
    const watched = there ?? { listeners: new Set<Listener>(), read, last: undefined, timer: undefined }
    watched.listeners.add(listener)
    if (there === undefined) {
      this.#watched.set(key, watched)
      void this.#look(key, watched)
    } else if (watched.last !== undefined) listener(watched.last)
    return () => {
      watched.listeners.delete(listener)
      if (watched.listeners.size > 0) return
      clearTimeout(watched.timer)
      if (this.#watched.get(key) === watched) this.#watched.delete(key)
    }
  }

  /** Ends all reading. */
  close(): void {
    for (const { timer } of this.#watched.values()) clearTimeout(timer)
    this.#watched.clear()
  }

  async #look(key: string, watched: Watched): Promise<void> {
    const began = performance.now()
    const text = await watched.read()
    const tookMs = performance.now() - began
    if (text !== watched.last) {
      watched.last = text
      for (const listener of watched.listeners) listener(text)
    }
    if (this.#watched.get(key) !== watched || watched.listeners.size === 0) return
    watched.timer = setTimeout(
      () => void this.#look(key, watched),
      Math.max(this.#everyMs, tookMs * restPerRead),
    ).unref()
  }
}
