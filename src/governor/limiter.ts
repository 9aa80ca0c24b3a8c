import { formatDuration } from '../std/duration.ts'
import { figure, type Unit } from './probe.ts'

/** What keeps an operation from going faster: the signal, its value, its limits, and since when. */
export interface Limiter {
  probe: string
  title: string
  unit: Unit
  /** Null: it cannot be read any more. */
  value: number | null
  soft: number
  hard: number
  /** Who or what is behind the value. */
  said: string | null
  /** How long it has been the limiter. */
  forMs: number
  /** Pausing did not help, so that work goes on slowly. */
  futile: boolean
}

/** The limiter in one sentence without its full stop. */
export function limiterInWords({ title, value, unit, soft, hard, said, forMs, futile }: Limiter): string {
  const behind = said === null ? '' : ` (${said})`
  const since = `for ${formatDuration(forMs)}`
  if (value === null) return `${title} cannot be read any more, ${since}`
  const limits = `slows from ${figure(soft, unit)}, stops at ${figure(hard, unit)}`
  const help = futile ? '; pausing has not helped, so it goes on slowly' : ''
  return `${title} is ${figure(value, unit)}${behind}, ${limits}, ${since}${help}`
}
