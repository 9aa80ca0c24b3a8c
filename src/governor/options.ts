import { availableParallelism } from 'node:os'
import { parseDuration, type Duration } from '../std/duration.ts'
import type { GovernorOptions } from './governor.ts'
import { chooseProbes, wrong, type LimitOptions } from './limits.ts'
import type { Probe } from './probe.ts'

/** How the pace follows the health of the database. */
export interface GovernorConfig {
  /** Between two looks at the health of the database while there is work. */
  every?: Duration
  /** So long without getting better by a pause, a signal is taken for somebody else's doing, and work goes on slowly. */
  patience?: Duration
  /** Cores of the database server. Default: as many as this machine has. */
  cores?: number
  /** Other limits than the usual ones; false: the signal does not count. */
  limits?: LimitOptions
}

/** What all operations in all processes together may change and log in a second. */
export interface BudgetConfig {
  rowsPerSecond?: number
  walBytesPerSecond?: number
}

/** A look costs some ten small statements; more often than once a second nothing is gained by it. */
export const governorDefaults = { every: '1s', patience: '10m' } as const

/** Checks how the governor is to work, and fills in the defaults. */
export function resolveGovernor(config: {
  governor?: GovernorConfig
  probes?: readonly Probe[]
  budget?: BudgetConfig
}): GovernorOptions {
  const { governor = {}, probes = [], budget = {} } = config
  return {
    everyMs: time('governor.every', governor.every ?? governorDefaults.every, 10),
    patienceMs: time('governor.patience', governor.patience ?? governorDefaults.patience, 1_000),
    cores: coresOf(governor.cores),
    probes: chooseProbes(governor.limits ?? {}, probes),
    budget: {
      rowsPerSecond: rate('budget.rowsPerSecond', budget.rowsPerSecond),
      walBytesPerSecond: rate('budget.walBytesPerSecond', budget.walBytesPerSecond),
    },
  }
}

function time(option: string, value: unknown, leastMs: number): number {
  const ms = parseDuration(value)
  if (ms !== undefined && ms >= leastMs && ms <= 86_400_000) return ms
  throw wrong(option, `must be a time such as "1s" or "10m", from ${leastMs} ms to a day, not ${JSON.stringify(value)}`)
}

function rate(option: string, value: number | undefined): number | undefined {
  if (value === undefined || (Number.isFinite(value) && value > 0)) return value
  throw wrong(option, `must be a number above 0, not ${JSON.stringify(value)}`)
}

function coresOf(given: number | undefined): number {
  if (given === undefined) return availableParallelism()
  if (Number.isSafeInteger(given) && given > 0 && given <= 10_000) return given
  throw wrong('governor.cores', `must be a whole number from 1, not ${JSON.stringify(given)}`)
}
