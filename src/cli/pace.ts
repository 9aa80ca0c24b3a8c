import { formatDuration, type OperationStatus } from '../index.ts'

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

/** The time that is left as a person would say it: one figure where both ends of the range round to the same. */
export function timeLeft({ eta }: Pick<OperationStatus, 'eta'>): string | undefined {
  if (eta === undefined) return undefined
  const [low, high] = [words(eta.lowMs), words(eta.highMs)]
  return low === high ? `about ${high} left` : `${low} to ${high} left`
}

const words = (ms: number): string => formatDuration(Math.ceil(ms / 1_000) * 1_000).replace('.0 ', ' ')
