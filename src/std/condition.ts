/** A condition variable for one waiter. It remembers that it was notified until somebody consumes that. */
export class Condition {
  #notified = false
  #wake: (() => void) | undefined

  get notified(): boolean {
    return this.#notified
  }

  notify(): void {
    this.#notified = true
    this.#wake?.()
  }

  /** Ends a wait without notifying: whoever waits looks around and waits again. */
  interrupt(): void {
    this.#wake?.()
  }

  /** Whether it was notified since the last call. */
  consume(): boolean {
    const notified = this.#notified
    this.#notified = false
    return notified
  }

  /** Waits for the next notification or interruption, or until the time is over. */
  async wait(waitMs?: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = waitMs === undefined ? undefined : setTimeout(resolve, waitMs)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wake = undefined
  }
}
