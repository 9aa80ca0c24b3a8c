const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })

/** A number in full: 1,234,567. */
export const count = (n: number): string => whole.format(n)
/** A number for narrow places: 1.23M. */
export function brief(n: number): string {
  if (Math.abs(n) < 10) return String(Math.round(n * 10) / 10)
  return Math.abs(n) < 10_000 ? whole.format(n) : short.format(n)
}
export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`
export const percent = (share: number): string =>
  `${share >= 1 ? '100' : share <= 0 ? '0' : (Math.floor(share * 1_000) / 10).toFixed(1)} %`

/** An amount of memory or disk: 12.3 MiB. */
export function bytes(n: number): string {
  const at = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(1, n)) / 10)))
  return `${brief(n / 1024 ** at)} ${['bytes', 'KiB', 'MiB', 'GiB', 'TiB'][at]}`
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A span of time, as exact as anybody wants it: 850 ms, 12 s, 3 h 10 min. What is zero is left out. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1).replace('.0', '')} s`
  if (ms < 59_500) return `${Math.round(ms / 1_000)} s`
  const at = units.findIndex(([, size]) => ms >= size - 500)
  const [unit, size] = units[at] ?? units[2]
  const next = units[at + 1] ?? units[3]
  const main = Math.max(1, Math.floor(ms / size))
  // Seconds matter to nobody who waits for ten minutes.
  const rest = unit === 'min' && main >= 10 ? 0 : Math.floor(Math.max(0, ms - main * size) / next[1])
  return `${main} ${unit}${rest > 0 ? ` ${rest} ${next[0]}` : ''}`
}

/** From how long to how long, in round figures: 4 – 10 min, 3 h 10 min – 4 h. */
export function range(lowMs: number, highMs: number): string {
  const [unit, size] = highMs < 90_000 ? units[3] : highMs < 90 * 60_000 ? units[2] : ([undefined, 600_000] as const)
  const [low, high] = [lowMs, highMs].map((ms) => Math.max(1, Math.round(ms / size)) * size)
  if (low === undefined || high === undefined || low === high) return `~${duration(high ?? highMs)}`
  return unit === undefined ? `${duration(low)} – ${duration(high)}` : `${low / size} – ${high / size} ${unit}`
}
