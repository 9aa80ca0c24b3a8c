import type { OperationStatus } from '../../index.ts'

const limitMs = 60_000

/** A demo that makes no progress for a minute fails: a person must not sit before it and wonder. */
export class Standstill {
  #rowsSeen = -1
  #sinceMs = Date.now()

  check({ rowsSeen, limitedBy }: OperationStatus): void {
    if (rowsSeen !== this.#rowsSeen) {
      this.#rowsSeen = rowsSeen
      this.#sinceMs = Date.now()
    } else if (Date.now() - this.#sinceMs > limitMs) {
      throw new Error(
        `The demo has made no progress for ${limitMs / 1_000} s (${limitedBy}). Is this machine very busy?`,
      )
    }
  }
}
