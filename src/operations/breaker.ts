/**
 * The circuit breaker: pauses an operation when too many of its sub-batches fail.
 *
 * Decision: it keeps the last forty outcomes of an operation in the memory of one worker, and forgets them with the
 * process. A new worker learns the same within seconds, so nothing has to be stored.
 */
import { createHash } from 'node:crypto'
import type { ErrorRecord } from '../std/error-record.ts'

const windowSize = 40
const sameInARow = 5
const tolerated = 0.2
/** Before so many outcomes the rate says nothing. */
const fewest = 20

/** The recent past of an operation in this process: what became of its last sub-batches, newest last. */
export type Outcomes = readonly string[]

/** Adds an outcome: `ok`, or the fingerprint of the error for which a row was isolated. */
export function remember(outcomes: Outcomes, outcome: string): Outcomes {
  return [...outcomes, outcome].slice(-windowSize)
}

/**
 * Why an operation should stop and wait for a person, or undefined. Rows that fail one after the other for the same
 * reason point at the code; many failures among the last ones, at something worse than a few bad rows.
 */
export function tripReason(outcomes: Outcomes): string | undefined {
  const last = outcomes.slice(-sameInARow)
  if (last.length === sameInARow && last[0] !== 'ok' && new Set(last).size === 1) {
    return `${sameInARow} rows in a row failed with the same error`
  }
  const failed = outcomes.filter((outcome) => outcome !== 'ok').length
  if (outcomes.length < fewest || wilsonLower(failed, outcomes.length) <= tolerated) return undefined
  return `${failed} of the last ${outcomes.length} sub-batches ended with an isolated row`
}

/** The lower end of the 95 % confidence interval of a rate; few samples prove little. */
function wilsonLower(hits: number, samples: number): number {
  if (samples === 0) return 0
  const z = 1.96
  const rate = hits / samples
  const spread = z * Math.sqrt((rate * (1 - rate) + z ** 2 / (4 * samples)) / samples)
  return (rate + z ** 2 / (2 * samples) - spread) / (1 + z ** 2 / samples)
}

/** The same for errors that differ only in the values they mention. */
export function fingerprintOf({ name, code, message }: ErrorRecord): string {
  const shape = message.replace(/'[^']*'|"[^"]*"|\(.*?\)|\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\d+/g, '?')
  return createHash('sha256')
    .update(`${name}\n${code ?? ''}\n${shape}`)
    .digest('hex')
    .slice(0, 16)
}
