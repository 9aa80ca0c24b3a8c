import { SluiceError } from '../errors.ts'
import { formatDuration, parseDuration } from '../std/duration.ts'
import { didYouMean } from '../std/suggest.ts'

/** Says what is wrong with an option of the configuration. */
export function wrongOption(option: string, problem: string): SluiceError {
  return new SluiceError('CONFIG_INVALID', {
    message: `The configuration is wrong: "${option}" ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
    details: { option },
  })
}

/** Refuses what is not an option at this place; the outermost has no name. */
export function checkNames(place: string, given: object | undefined, known: readonly string[]): void {
  if (given === undefined) return
  if (typeof given !== 'object' || given === null) throw wrongOption(place, 'must be an object')
  const wrong = Object.keys(given).find((name) => !known.includes(name))
  if (wrong === undefined) return
  throw wrongOption(place === '' ? wrong : `${place}.${wrong}`, `is not an option.${didYouMean(wrong, known)}`)
}

/** The database counts its limits in 32 bits; a history of ten years is enough. */
const longestMs = 3_660 * 86_400_000

/** The milliseconds of an option that is a time. */
export function timeOf(option: string, value: unknown, { leastMs = 1, mostMs = longestMs } = {}): number {
  const ms = parseDuration(value)
  if (ms !== undefined && ms >= leastMs && ms <= mostMs) return Math.round(ms)
  const least = leastMs < 60_000 ? `${leastMs} ms` : formatDuration(leastMs)
  const bounds = `at least ${least} and at most ${formatDuration(mostMs)}`
  throw wrongOption(option, `must be a time such as "30s" or "5m", ${bounds}, not ${JSON.stringify(value)}`)
}

/** An option that is a number of things. */
export function wholeOf(option: string, value: unknown, most = 200): number {
  if (Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= most) return value as number
  throw wrongOption(option, `must be a whole number from 1 to ${most}, not ${JSON.stringify(value)}`)
}

/** An option that is an amount. */
export function amountOf(option: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value) && value > 0) return value
  throw wrongOption(option, `must be a number above 0, not ${JSON.stringify(value)}`)
}
