const units = {
  ms: 1,
  s: 1_000,
  second: 1_000,
  m: 60_000,
  minute: 60_000,
  h: 3_600_000,
  hour: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  w: 604_800_000,
  week: 604_800_000,
} as const

type Unit = keyof typeof units
type Spelled = Unit | `${Exclude<Unit, 'ms' | 's' | 'm' | 'h' | 'd' | 'w'>}s`

/** A span of time as people write it, such as `'500ms'`, `'30s'`, `'5m'` or `'90 days'`; a number counts milliseconds. */
export type Duration = number | `${number}${Spelled}` | `${number} ${Spelled}`

/** Milliseconds of a duration, or undefined when it is not one. */
export function parseDuration(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined
  if (typeof value !== 'string') return undefined
  const match = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d|w|(?:second|minute|hour|day|week)s?)$/.exec(value.trim())
  if (match?.[1] === undefined || match[2] === undefined) return undefined
  const unit = match[2].length > 2 ? match[2].replace(/s$/, '') : match[2]
  return unit in units ? Number(match[1]) * units[unit as Unit] : undefined
}

/** A span of time in two units at most: `850 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const steps = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1_000],
  ] as const
  const at = steps.findIndex(([, size]) => ms >= size)
  const [big, small] = [steps[at], steps[at + 1]]
  if (big === undefined || small === undefined) return `${Math.round(ms / 1_000)} s`
  const whole = Math.floor(ms / big[1])
  const rest = Math.floor((ms - whole * big[1]) / small[1])
  return rest === 0 ? `${whole} ${big[0]}` : `${whole} ${big[0]} ${rest} ${small[0]}`
}
