import type { OperationView } from '../store/operations.ts'

/** A likely span of time: with a chance of four in five, the rest takes longer than `lowMs` and less than `highMs`. */
export interface Eta {
  lowMs: number
  highMs: number
}

/** Where an operation is in its table, as shares of the rows; the statistics may be newer than its estimate. */
export interface Place {
  rows: number
  from: number
  at: number
  to: number
}

/** How much the histogram counts against the plain difference of estimate and rows seen. */
const histogramWeight = 0.7
/** The spread of rates on a logarithmic scale. No history of rates is kept, so this is an assumption, not a measure. */
const sigma = 0.35
/** Four of five values of a normal distribution are within so many sigmas. */
const fourInFive = 1.28
/** Earlier than this, one slow sub-batch would tell the whole story. */
const leastProgress = 0.001
const leastSubBatches = 10

/** The keys whose places tell how far an operation is: its bounds, and where its batches stand. Null: before all rows. */
export function landmarksOf(
  view: Pick<OperationView, 'lower_key' | 'carve_end' | 'carved_to' | 'running'>,
): (string | null)[] {
  const standing = view.running.length > 0 ? view.running.map(({ at }) => at) : [view.carved_to]
  return [view.lower_key, view.carve_end, ...standing].map((key) => key?.[0] ?? null)
}

/** The place of an operation, from the shares of its landmarks: as far as its slowest batch. */
export function placeOf({ rows, shares }: { rows: number; shares: readonly number[] }): Place {
  const [from = 0, to = 0, ...standing] = shares
  // Without an end yet, or with one before its beginning, the operation goes to the end of the table.
  const end = to > from ? to : 1
  return { rows, from, to: end, at: Math.min(end, Math.max(from, Math.min(...standing))) }
}

type Seen = Pick<OperationView, 'rows_seen' | 'rows_estimate'> & { walk?: OperationView['walk'] }

/** Rows that the walk has not passed yet; undefined when there is nothing to tell it by. */
export function remainingRows({ rows_seen, rows_estimate, walk = 'key' }: Seen, place?: Place): number | undefined {
  if (walk !== 'key') return place === undefined ? undefined : likeBefore(rows_seen, place)
  if (place === undefined) return rows_estimate <= 0 ? undefined : Math.max(0, rows_estimate - rows_seen)
  const ahead = place.rows * (place.to - place.at)
  if (rows_estimate <= 0) return ahead
  const unseen = Math.max(0, rows_estimate * (place.to - place.from) - rows_seen)
  return histogramWeight * ahead + (1 - histogramWeight) * unseen
}

/** Without an estimate of the rows in scope, those ahead are taken to be as many as those behind. */
function likeBefore(seen: number, { from, at, to }: Place): number | undefined {
  return at > from ? (seen * (to - at)) / (at - from) : undefined
}

/** More rows were met than the estimate at the start had. */
export function isPastEstimate({ rows_seen, rows_estimate }: Seen): boolean {
  return rows_estimate > 0 && rows_seen > rows_estimate
}

type Work = Pick<OperationView, 'rows_seen' | 'sub_batches' | 'busy_ms' | 'lanes' | 'started_at' | 'as_of'>

/** Rows that one lane passes in a second of work. */
export function rowsPerBusySecond({ rows_seen, busy_ms }: Pick<Work, 'rows_seen' | 'busy_ms'>): number | undefined {
  return busy_ms > 0 ? (rows_seen * 1_000) / busy_ms : undefined
}

/**
 * The share of the time since the start in which a lane was at work; holds and pauses count as time. Never above 1,
 * which it would be after the number of lanes was lowered.
 */
export function utilisation({ busy_ms, lanes, started_at, as_of }: Omit<Work, 'rows_seen' | 'sub_batches'>): number {
  const wallMs = started_at === null ? 0 : as_of.getTime() - started_at.getTime()
  return wallMs > 0 ? Math.min(1, busy_ms / (wallMs * lanes)) : 0
}

/** How long the rest will take if all goes on as it went; undefined when it is too early, or nothing left by estimate. */
export function etaOf(
  work: Work,
  { remaining, progress = 0 }: { remaining: number | undefined; progress: number | undefined },
): Eta | undefined {
  if (progress < leastProgress && work.sub_batches < leastSubBatches) return undefined
  const perSecond = (rowsPerBusySecond(work) ?? 0) * utilisation(work) * work.lanes
  if (remaining === undefined || remaining <= 0 || perSecond <= 0) return undefined
  const ms = (remaining * 1_000) / perSecond
  const spread = Math.exp(fourInFive * sigma)
  return { lowMs: Math.round(ms / spread), highMs: Math.round(ms * spread) }
}
