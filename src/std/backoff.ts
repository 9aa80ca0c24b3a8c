/** How waits grow between tries: from `baseMs`, doubling, never above `maxMs`. */
export interface Backoff {
  baseMs: number
  maxMs: number
}

/** The wait before try number `attempt` (from 1), spread over the upper half so that many callers do not meet again. */
export function backoffMs(attempt: number, { baseMs, maxMs }: Backoff, random: number): number {
  const ceiling = Math.min(maxMs, baseMs * 2 ** Math.min(attempt - 1, 30))
  return Math.round(ceiling * (0.5 + random / 2))
}
