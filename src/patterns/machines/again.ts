import { parseDuration, type Duration } from '../../std/duration.ts'

/** The row stays in its state, and its work is done again later. Made by {@link again}. */
export class Again {
  /** Undefined: after the `delay` of the state. */
  readonly delayMs: number | undefined

  constructor(delayMs: number | undefined) {
    this.delayMs = delayMs
  }
}

/**
 * Not yet: what the work of a state returns when the row is to stay in it, to look again after `in`, or after the
 * `delay` of the state. It is no failure and counts as no attempt.
 *
 * @example
 * ```ts
 * import { again } from 'sluice'
 *
 * const poll = async ({ row }: { row: Record<string, unknown> }) => (row['verdict'] === null ? again({ in: '30m' }) : 'approved')
 * ```
 */
export function again({ in: wait }: { in?: Duration } = {}): Again {
  const delayMs = wait === undefined ? undefined : parseDuration(wait)
  if (wait !== undefined && delayMs === undefined) {
    throw new TypeError(`again takes a time such as { in: "30m" }, not ${JSON.stringify(wait)}`)
  }
  return new Again(delayMs)
}
