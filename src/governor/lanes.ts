/** What decides about the number of lanes. */
export interface LaneState {
  lanes: number
  most: number
  /** Rows per second with this number of lanes, with one less and with one more, where that is known. */
  rate: number | undefined
  rateBelow: number | undefined
  rateAbove: number | undefined
  share: number
  load: number
}

/** One more lane has to bring at least this much. */
const worthwhile = 1.05

/**
 * The next number of lanes. Lanes are given up as soon as others need the database, one at a time; one is added while
 * nothing limits the work and the last one that was added has paid.
 */
export function nextLanes({ lanes, most, rate, rateBelow, rateAbove, share, load }: LaneState): number {
  if (share < 0.5 || load > 0.7) return Math.max(1, lanes - 1)
  if (rate === undefined) return lanes
  if (rateBelow !== undefined && lanes > 1 && rate < rateBelow * worthwhile) return lanes - 1
  const pays = rateAbove === undefined || rateAbove >= rate * worthwhile
  return pays && share > 0.9 && load < 0.3 ? Math.min(most, lanes + 1) : lanes
}

/**
 * How long a number of lanes is tried. More of them than the server has cores seldom pay, and whoever tries that too
 * soon slows a short run down.
 */
export function trialMs({ lanes, next, cores }: { lanes: number; next: number; cores: number }): number {
  return next > lanes && lanes >= cores ? 10_000 : judgeMs
}

/** A number of lanes is judged after so long. */
export const judgeMs = 1_000
