import { availableParallelism } from 'node:os'
import { amountOf, timeOf, wholeOf } from '../config/option.ts'
import type { Duration } from '../std/duration.ts'
import type { GovernorOptions } from './governor.ts'
import { chooseProbes, type LimitOptions } from './limits.ts'
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

const day = 86_400_000

/** Checks how the governor is to work, and fills in the defaults. */
export function resolveGovernor(config: {
  governor?: GovernorConfig
  probes?: readonly Probe[]
  budget?: BudgetConfig
}): GovernorOptions {
  const { governor = {}, probes = [], budget = {} } = config
  return {
    everyMs: timeOf('governor.every', governor.every ?? governorDefaults.every, { leastMs: 10, mostMs: day }),
    patienceMs: timeOf('governor.patience', governor.patience ?? governorDefaults.patience, {
      leastMs: 1_000,
      mostMs: day,
    }),
    cores: governor.cores === undefined ? availableParallelism() : wholeOf('governor.cores', governor.cores, 10_000),
    probes: chooseProbes(governor.limits ?? {}, probes),
    budget: {
      rowsPerSecond: limit('budget.rowsPerSecond', budget.rowsPerSecond),
      walBytesPerSecond: limit('budget.walBytesPerSecond', budget.walBytesPerSecond),
    },
  }
}

const limit = (option: string, value: number | undefined): number | undefined =>
  value === undefined ? undefined : amountOf(option, value)
