import type { AlertConfig } from '../observe/alerts/options.ts'
import { governorDefaults, type BudgetConfig, type GovernorConfig } from '../governor/options.ts'
import type { Probe } from '../governor/probe.ts'
import type { InboxDefinition } from '../patterns/inbox/define.ts'
import type { JobDefinition } from '../jobs/definition.ts'
import type { MachineDefinition } from '../patterns/machines/definition.ts'
import type { OperationDefinition } from '../operations/definition.ts'
import type { ReconcilerDefinition } from '../patterns/reconcilers/define.ts'
import type { ScheduleDefinition } from '../patterns/schedules/define.ts'
import type { Duration } from '../std/duration.ts'
import type { SweepDefinition } from '../patterns/sweeps/definition.ts'

/** Everything that can be set. What is left out has a default; see {@link defaults}. */
export interface SluiceConfig {
  /**
   * Connection string of the database. Left out: `SLUICE_DATABASE_URL`, `DATABASE_URL`, or the PG* variables. Given but
   * undefined, it is refused: a variable that is missing must not lead to another database.
   */
  database?: string | undefined
  /** Connection string of a replica, for operations with `reads: 'replica'`. Default: `SLUICE_REPLICA_URL`, or none. */
  replica?: string | undefined
  /**
   * What stands between this process and the database: a pooler in transaction mode such as PgBouncer, or `none`, which
   * is also right for one in session mode. Default: `auto`, found out when the first connection opens.
   */
  pooler?: 'auto' | 'transaction' | 'none'
  /** Schema of our tables. Given but undefined, it is refused. */
  schema?: string | undefined
  /** The operations that this process knows. */
  operations?: readonly OperationDefinition[]
  /** The jobs that this process knows. */
  jobs?: readonly JobDefinition[]
  /** The schedules that this process keeps. Their jobs and operations need not be listed again. */
  schedules?: readonly ScheduleDefinition[]
  /** The machines that this process knows; their jobs and reconcilers come with them. */
  machines?: readonly MachineDefinition[]
  /** The reconcilers that this process knows. */
  reconcilers?: readonly ReconcilerDefinition[]
  /** The inboxes that this process works on. */
  inboxes?: readonly InboxDefinition[]
  /** The sweeps that this process knows. */
  sweeps?: readonly SweepDefinition[]
  worker?: {
    /** Batches at once in this process. */
    concurrency?: number
    /** After so long without a sign of life, another worker takes over what a worker held. */
    lease?: Duration
    /** Wait between looks for work when there was none. */
    poll?: Duration
    /** Work that makes no progress for so long loses its lease. */
    noProgress?: Duration
    /** How long a stop waits for running sub-batches before it aborts them. */
    stop?: Duration
    /**
     * A worker that could renew no lease for so long ends by itself. Default: never; the command `sluice worker` then
     * ends with an error after 5 minutes, so that whatever started it starts it anew.
     */
    giveUp?: Duration
    jobs?: {
      /** Jobs at once in this process. */
      concurrency?: number
      /** Wait between looks for jobs when there was none and no hint came. */
      poll?: Duration
      /** The queues to work on, by name, or with weights: `{ urgent: 3, rest: 1 }`. Default: all. */
      queues?: readonly string[] | Readonly<Record<string, number>>
    }
  }
  /** How the pace follows the health of the database. */
  governor?: GovernorConfig
  /** Health signals of your own; see `defineProbe`, `httpProbe` and `prometheusProbe`. */
  probes?: readonly Probe[]
  /** What all operations in all processes together may change and log in a second. Default: no limit. */
  budget?: BudgetConfig
  /** Limits for each statement and transaction, kept by the server and, with a margin, by the client. */
  timeouts?: { statement?: Duration; lock?: Duration; idleInTransaction?: Duration }
  /**
   * How long history is kept: of operations (whole weeks are dropped), of jobs that succeeded, of those that did not
   * (whole days), of samples of an hour, of the one line that is left of each operation, and of the audit (at least 30
   * days).
   */
  history?: {
    keep?: Duration
    jobs?: Duration
    deadJobs?: Duration
    samples?: Duration
    summaries?: Duration
    audit?: Duration
  }
  /** When to call a person, and how. */
  alerts?: AlertConfig
  /** Paths of args of all jobs and operations that nobody may see, such as `args.token`. */
  redact?: readonly string[]
  /** The embedded PostgreSQL, for development. */
  embedded?: { dataDir?: string; port?: number }
}

/** The defaults, each for a reason. */
export const defaults = {
  pooler: 'auto',
  schema: 'sluice',
  worker: {
    concurrency: 2,
    /** Two missed renewals are tolerated; a crash is taken over within 30 s + 10 s. */
    lease: '30s',
    poll: '2s',
    noProgress: '5m',
    /** Container platforms give 30 s between SIGTERM and SIGKILL. */
    stop: '20s',
    jobs: { concurrency: 10, poll: '1s' },
  },
  governor: governorDefaults,
  /** Idle in transaction is how a paused worker holds locks: the server ends that. */
  timeouts: { statement: '15s', lock: '5s', idleInTransaction: '30s' },
  /** Auditors ask who did what in the year before; two years cover that. */
  history: {
    keep: '30 days',
    jobs: '7 days',
    deadJobs: '90 days',
    samples: '90 days',
    summaries: '730 days',
    audit: '730 days',
  },
  embedded: { dataDir: '.sluice/postgres' },
} as const

/**
 * Types a configuration file; gives it back unchanged.
 *
 * @example
 * ```ts
 * // sluice.config.ts
 * import { defineConfig, expire } from 'sluice'
 *
 * export default defineConfig({
 *   operations: [expire({ name: 'expire-events', table: 'events', olderThan: '90 days', by: 'created_at' })],
 * })
 * ```
 */
export function defineConfig(config: SluiceConfig): SluiceConfig {
  return config
}
