/** Lets one wait until another rings. A ring that nobody waits for is not kept. */
export class Bell {
  #hear: (() => void) | undefined

  ring(): void {
    this.#hear?.()
  }

  /** Waits for the next ring, or for so long. */
  async heard(waitMs?: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = waitMs === undefined ? undefined : setTimeout(resolve, waitMs)
      this.#hear = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#hear = undefined
  }
}
