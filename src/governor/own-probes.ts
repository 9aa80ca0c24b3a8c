import { SluiceError } from '../errors.ts'
import { parseDuration, type Duration } from '../std/duration.ts'
import { didYouMean } from '../std/suggest.ts'
import type { Measure, Probe, Unit } from './probe.ts'
import { parseLimits, type ProbeLimits } from './limits.ts'

/** What all probes of your own have. */
export interface OwnProbeOptions extends ProbeLimits {
  /** Unique among probes; the limiter of an operation is told by it. */
  name: string
  /** In words, as in "free space of the data disk". Default: the name. */
  title?: string
  /** How values are shown. Default: as plain numbers. */
  unit?: Unit
  /** When it cannot be read: `hold` (default) stops the work after three polls, `freeze` keeps the last value. */
  unknown?: 'hold' | 'freeze'
  /** How long one reading may take. Default: 1 s. */
  timeout?: Duration
}

/** How a probe of your own is declared; see {@link defineProbe}. */
export interface ProbeSpec extends OwnProbeOptions {
  /** Gives the value. The signal aborts when the time is over. Undefined: there is nothing to measure at the moment. */
  read(signal: AbortSignal): Promise<number | undefined> | number | undefined
}

/**
 * Defines a health signal of your own: an objective of your application, free disk space, or a flag that people set.
 * Where less is worse, let the hard limit be below the soft one.
 *
 * @example
 * ```ts
 * import { statfs } from 'node:fs/promises'
 * import { defineProbe } from 'sluice'
 *
 * export const diskSpace = defineProbe({
 *   name: 'diskSpace',
 *   title: 'free disk space',
 *   unit: 'bytes',
 *   soft: 50 * 2 ** 30,
 *   hard: 10 * 2 ** 30,
 *   read: async () => statfs('/var/lib/postgresql').then(({ bavail, bsize }) => bavail * bsize),
 * })
 * ```
 */
export function defineProbe(spec: ProbeSpec): Probe {
  checkOptions(spec, ['read'])
  if (typeof spec.read !== 'function') refuse(spec.name, '"read" must be a function')
  return probeFrom(spec, async (signal) => {
    const value = await spec.read(signal)
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isFinite(value)) return { value }
    throw new TypeError(`the probe "${spec.name}" must give a number, not ${typeof value}`)
  })
}

/** A probe of one's own from its options and the function that reads it, within the time limit. */
export function probeFrom(
  options: OwnProbeOptions,
  readOnce: (signal: AbortSignal) => Promise<Measure | undefined>,
): Probe {
  const { name, title = name, unit = 'count', unknown = 'hold' } = options
  const timeoutMs = parseDuration(options.timeout ?? '1s') ?? 1_000
  return {
    name,
    title,
    unit,
    kind: unknown === 'hold' ? 'budget' : 'gauge',
    per: 'outside',
    effect: 'hold',
    yields: false,
    smooth: false,
    ...parseLimits(`probes.${name}`, { soft: options.soft, hard: options.hard }, unit),
    open: () => async () => {
      const signal = AbortSignal.timeout(timeoutMs)
      const late = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error(`no value within ${timeoutMs} ms`)), { once: true })
      })
      return Promise.race([readOnce(signal), late])
    },
  }
}

const common = ['name', 'title', 'unit', 'soft', 'hard', 'unknown', 'timeout']

/** Refuses what a probe cannot be made of, before anything is read. */
export function checkOptions(options: OwnProbeOptions, more: readonly string[]): void {
  const { unknown = 'hold', timeout = '1s' } = options
  const name = typeof options.name === 'string' ? options.name : ''
  if (!/^[a-z][a-z0-9._-]{0,99}$/i.test(name)) {
    refuse(name, 'its name must start with a letter and have up to 100 letters, digits, ".", "_" or "-"')
  }
  const known = [...common, ...more]
  const stray = Object.keys(options).find((key) => !known.includes(key))
  if (stray !== undefined) refuse(name, `there is no option "${stray}".${didYouMean(stray, known)}`)
  if (unknown !== 'hold' && unknown !== 'freeze') refuse(name, '"unknown" must be hold or freeze')
  const timeoutMs = parseDuration(timeout)
  if (timeoutMs === undefined || timeoutMs < 1 || timeoutMs > 60_000) {
    refuse(name, '"timeout" must be a time such as "1s", up to a minute')
  }
}

/** Says what is wrong with a probe. */
export function refuse(name: string, problem: string): never {
  throw new SluiceError('DEFINITION_INVALID', {
    message: `The probe "${name}" cannot be defined: ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
    details: { name, problem },
  })
}
