import type { OperationStatus } from '../index.ts'

/** How far an operation was at one moment, by the database's clock. */
export interface Sample {
  atMs: number
  rowsSeen: number
}

/** Long enough to smooth out single batches, short enough to show a standstill soon. */
const windowMs = 4_000
/** Two looks that are closer together say little about a rate. */
const leastMs = 400

/** The history with one more sample, without those that are too old to matter. */
export function remember(
  history: readonly Sample[],
  { asOf, rowsSeen }: Pick<OperationStatus, 'asOf' | 'rowsSeen'>,
): readonly Sample[] {
  const atMs = asOf.getTime()
  // The wait before the first row says nothing about the pace.
  if (rowsSeen === 0) return [{ atMs, rowsSeen }]
  return [...history.filter((sample) => atMs - sample.atMs <= windowMs && sample.atMs < atMs), { atMs, rowsSeen }]
}

/** Rows that the walk passed per second lately; undefined when it is too early to tell. */
export function rowsPerSecond(history: readonly Sample[]): number | undefined {
  const [first, last] = [history[0], history.at(-1)]
  if (first === undefined || last === undefined || last.atMs - first.atMs < leastMs) return undefined
  return Math.max(0, ((last.rowsSeen - first.rowsSeen) * 1_000) / (last.atMs - first.atMs))
}

/** How long the rest will take at this pace; undefined when nobody can know. */
export function remainingMs(
  { rowsSeen, rowsEstimate }: Pick<OperationStatus, 'rowsSeen' | 'rowsEstimate'>,
  rate: number | undefined,
): number | undefined {
  if (rate === undefined || rate < 1 || rowsEstimate <= rowsSeen) return undefined
  return ((rowsEstimate - rowsSeen) * 1_000) / rate
}
