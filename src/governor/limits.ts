import { wrongOption } from '../config/option.ts'
import { parseDuration, type Duration } from '../std/duration.ts'
import { didYouMean } from '../std/suggest.ts'
import type { Probe, Unit } from './probe.ts'
import { serverProbes } from './probes/index.ts'

/** The limits of a signal, in its unit: a time such as `'2s'`, bytes, a share or a number. */
export interface ProbeLimits {
  /** From here on work slows down. */
  soft: number | Duration
  /** From here on it stops, or is as slow as can be. */
  hard: number | Duration
}

/** The signals of the server, and the limits that they get; false: the signal does not count. */
export type LimitOptions = Partial<Record<ProbeName, ProbeLimits | false>>

/** The signals of the server that have limits. */
export type ProbeName =
  | 'activeSessions'
  | 'archive'
  | 'checkpoints'
  | 'commitTime'
  | 'deadRows'
  | 'lockWaits'
  | 'oldestSnapshot'
  | 'replicaBytes'
  | 'replicaLag'
  | 'slots'
  | 'transactions'
  | 'vacuum'
  | 'walRate'

/** The names of the signals of the server. */
export const probeNames: readonly string[] = serverProbes.map(({ name }) => name)

/** The probes of the server with the limits that were asked for, and the ones that the user has made. */
export function chooseProbes(limits: LimitOptions, own: readonly Probe[]): Probe[] {
  const known = probeNames
  for (const name of Object.keys(limits)) {
    if (!known.includes(name))
      throw wrongOption(`governor.limits.${name}`, `is not a signal.${didYouMean(name, known)}`)
  }
  const names = own.map(({ name }) => name)
  const twice = names.find((name, i) => known.includes(name) || names.indexOf(name) !== i)
  if (twice !== undefined)
    throw wrongOption('probes', `has "${twice}" twice, or it is the name of a signal of the server`)
  const server = serverProbes.flatMap((probe): Probe[] => {
    const given = limits[probe.name as ProbeName]
    // What is off for the server may be on for an operation.
    if (given === undefined)
      return Number.isFinite(probe.soft) || probe.per === 'table' || probe.advises === true ? [probe] : []
    return given === false ? [] : [{ ...probe, ...parseLimits(`governor.limits.${probe.name}`, given, probe.unit) }]
  })
  return [...server, ...own]
}

/** Checks a pair of limits and gives them as numbers. */
export function parseLimits(option: string, given: ProbeLimits, unit: Unit): { soft: number; hard: number } {
  if (typeof given !== 'object' || given === null)
    throw wrongOption(option, 'must have a soft and a hard limit, or be false')
  for (const key of Object.keys(given)) {
    if (key !== 'soft' && key !== 'hard')
      throw wrongOption(`${option}.${key}`, 'is not an option; limits are soft and hard')
  }
  const number = (key: 'soft' | 'hard'): number => {
    const value = unit === 'ms' ? parseDuration(given[key]) : given[key]
    if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
    const example = unit === 'ms' ? 'a time such as "2s"' : 'a number from 0'
    throw wrongOption(`${option}.${key}`, `must be ${example}, not ${JSON.stringify(given[key])}`)
  }
  const limits = { soft: number('soft'), hard: number('hard') }
  if (limits.soft === limits.hard) throw wrongOption(option, 'needs a soft limit that differs from the hard one')
  return limits
}
