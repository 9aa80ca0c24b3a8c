/**
 * A way to tell a handler to stop. The signal is made when somebody asks for it: most handlers never do, and a signal
 * costs more than a small job.
 */
export class Stop {
  #controller: AbortController | undefined
  #reason: Error | undefined
  #onStop: ((reason: Error) => void) | undefined

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** Why it was told to stop; undefined: it was not. */
  get reason(): Error | undefined {
    return this.#reason
  }

  /** Tells it; only the first reason counts. */
  stop(reason: Error): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#controller?.abort(reason)
    this.#onStop?.(reason)
  }

  /** What to do when it is told. */
  whenStopped(react: (reason: Error) => void): void {
    this.#onStop = react
    if (this.#reason !== undefined) react(this.#reason)
  }
}
