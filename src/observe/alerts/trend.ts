/** A value at a time, in milliseconds. */
export interface Point {
  atMs: number
  value: number
}

/** A straight line through points, by least squares. */
export interface Trend {
  perMinute: number
  /** Where the line is at the last point. */
  now: number
  mean: number
  /** How much of the movement the line explains, from 0 to 1. */
  fit: number
}

const minute = 60_000

/** The line through points; undefined when they are too few, or all of one moment. */
export function trendOf(points: readonly Point[], least = 6): Trend | undefined {
  const last = points.at(-1)
  if (points.length < Math.max(2, least) || last === undefined) return undefined
  const n = points.length
  const minutes = points.map(({ atMs }) => (atMs - last.atMs) / minute)
  const meanAt = minutes.reduce((sum, at) => sum + at, 0) / n
  const mean = points.reduce((sum, { value }) => sum + value, 0) / n
  let [across, along, up] = [0, 0, 0]
  for (const [i, { value }] of points.entries()) {
    const [dx, dy] = [(minutes[i] ?? 0) - meanAt, value - mean]
    across += dx * dx
    along += dx * dy
    up += dy * dy
  }
  if (across === 0) return undefined
  const perMinute = along / across
  return { perMinute, mean, now: mean - perMinute * meanAt, fit: up === 0 ? 1 : (along * along) / (across * up) }
}
