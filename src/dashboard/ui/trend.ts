import { duration } from './figures.ts'

const few = 20

/** Which way a number goes. */
export interface Trend {
  perMinute: number
  told: string
}

/** The slope by least squares, and what it means if it goes on like this. */
export function trendOf(points: readonly { at: number; value: number }[]): Trend | undefined {
  // A handful that comes and goes is no trend.
  if (points.length < 3 || points.every(({ value }) => value < few)) return undefined
  const n = points.length
  const [meanX, meanY] = [
    points.reduce((sum, { at }) => sum + at, 0) / n,
    points.reduce((sum, { value }) => sum + value, 0) / n,
  ]
  const spread = points.reduce((sum, { at }) => sum + (at - meanX) ** 2, 0)
  if (spread === 0) return undefined
  const slope = points.reduce((sum, { at, value }) => sum + (at - meanX) * (value - meanY), 0) / spread
  const perMinute = slope * 60_000
  const now = points.at(-1)?.value ?? 0
  // It has run dry: where it came from does not matter any more.
  if (now === 0 && perMinute <= 0) return undefined
  if (Math.abs(perMinute) < Math.max(0.5, now * 0.01)) return { perMinute, told: 'steady' }
  const inMs = Math.abs(now / slope)
  if (perMinute < 0) return { perMinute, told: `empty in ~${duration(inMs)}` }
  return { perMinute, told: now === 0 ? 'growing' : `doubles in ~${duration(inMs)}` }
}
