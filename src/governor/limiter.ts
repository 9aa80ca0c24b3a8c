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
  /** The gravest thing that it can do. */
  effect: 'hold' | 'slow'
  /** Who or what is behind the value. */
  said: string | null
  /** How long it has been the limiter. */
  forMs: number
  /** Pausing did not help, so that work goes on slowly. */
  futile: boolean
}

/** The limiter in one sentence without its full stop. */
export function limiterInWords(limiter: Limiter): string {
  return `${limitInWords(limiter)}, for ${formatDuration(limiter.forMs)}${helpInWords(limiter)}`
}

/** The same where the time is told otherwise. */
export function momentInWords(limiter: Limiter): string {
  return `${limitInWords(limiter)}${helpInWords(limiter)}`
}

function limitInWords({ title, value, unit, soft, hard, effect, said }: Limiter): string {
  if (value === null) return `${title} cannot be read any more`
  const behind = said === null ? '' : ` (${said})`
  const most = effect === 'hold' ? `stops at ${figure(hard, unit)}` : `slowest from ${figure(hard, unit)}`
  return `${title} is ${figure(value, unit)}${behind}, slows from ${figure(soft, unit)}, ${most}`
}

function helpInWords({ value, futile }: Limiter): string {
  return futile && value !== null ? '; pausing has not helped, so it goes on slowly' : ''
}
