import { resolveAlerts, type AlertConfig, type AlertOptions } from './alerts/options.ts'
import { SluiceError } from './errors.ts'
import type { GovernorOptions } from './governor/governor.ts'
import { governorDefaults, resolveGovernor, type BudgetConfig, type GovernorConfig } from './governor/options.ts'
import type { Probe } from './governor/probe.ts'
import type { InboxDefinition } from './inbox/define.ts'
import type { JobOptions } from './jobs/crew.ts'
import { checkQueueName, type JobDefinition } from './jobs/define.ts'
import type { MachineDefinition } from './machines/define.ts'
import type { OperationDefinition } from './operations/define.ts'
import type { WorkerOptions } from './operations/worker.ts'
import type { ScheduleDefinition } from './schedules/define.ts'
import { knownOf } from './schedules/known.ts'
import type { ReconcilerDefinition } from './reconcilers/define.ts'
import type { SweepDefinition } from './sweeps/define.ts'
import { parseDuration, type Duration } from './std/duration.ts'
import { problemOfPaths } from './std/mask.ts'
import { didYouMean } from './std/suggest.ts'
import type { DatabaseOptions } from './store/database.ts'
import { checkSchemaName } from './store/statement.ts'

/** Everything that can be set. What is left out has a default; see {@link defaults}. */
export interface SluiceConfig {
  /** Connection string of the database. Default: `SLUICE_DATABASE_URL`, `DATABASE_URL`, or the PG* variables. */
  database?: string | undefined
  /** Connection string of a replica, for operations with `reads: 'replica'`. Default: `SLUICE_REPLICA_URL`, or none. */
  replica?: string | undefined
  /** Schema of our tables. */
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
   * (whole days), and of samples of an hour.
   */
  history?: { keep?: Duration; jobs?: Duration; deadJobs?: Duration; samples?: Duration }
  /** When to call a person, and how. */
  alerts?: AlertConfig
  /** Paths of args of all jobs and operations that nobody may see, such as `args.token`. */
  redact?: readonly string[]
  /** The embedded PostgreSQL, for development. */
  embedded?: { dataDir?: string; port?: number }
}

/** The defaults, each for a reason. */
export const defaults = {
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
  history: { keep: '30 days', jobs: '7 days', deadJobs: '90 days', samples: '90 days' },
  embedded: { dataDir: '.sluice/postgres' },
} as const

/** The configuration with every value filled in and checked. */
export interface ResolvedConfig {
  database: DatabaseOptions
  worker: WorkerOptions
  jobWorker: JobOptions
  governor: GovernorOptions
  operations: readonly OperationDefinition[]
  jobs: readonly JobDefinition[]
  schedules: readonly ScheduleDefinition[]
  machines: readonly MachineDefinition[]
  reconcilers: readonly ReconcilerDefinition[]
  inboxes: readonly InboxDefinition[]
  sweeps: readonly SweepDefinition[]
  alerts: AlertOptions
  redact: readonly string[]
  keepSampleDays: number
}

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

const day = 86_400_000
/** The database counts its limits in 32 bits; a history of ten years is enough. */
const longest = 3_660 * day

const known = {
  '': [
    'database',
    'replica',
    'schema',
    'operations',
    'jobs',
    'schedules',
    'machines',
    'reconcilers',
    'inboxes',
    'sweeps',
    'worker',
    'governor',
    'probes',
    'budget',
    'timeouts',
    'history',
    'alerts',
    'redact',
    'embedded',
  ],
  worker: ['concurrency', 'lease', 'poll', 'noProgress', 'stop', 'jobs'],
  governor: ['every', 'patience', 'cores', 'limits'],
  budget: ['rowsPerSecond', 'walBytesPerSecond'],
  timeouts: ['statement', 'lock', 'idleInTransaction'],
  history: ['keep', 'jobs', 'deadJobs', 'samples'],
  embedded: ['dataDir', 'port'],
} as const

/** Checks a configuration and fills in the defaults. The environment decides where the code says nothing. */
export function resolveConfig(config: SluiceConfig, env: NodeJS.ProcessEnv): ResolvedConfig {
  for (const room of Object.keys(known) as (keyof typeof known)[]) checkKeys(room, room === '' ? config : config[room])
  const worker = { ...defaults.worker, ...config.worker }
  const timeouts = { ...defaults.timeouts, ...config.timeouts }
  const concurrency = positive('worker.concurrency', worker.concurrency)
  const jobWorker = resolveJobs(config)
  return {
    database: {
      url: databaseUrl('database', config.database ?? databaseFromEnvironment(env)),
      replica: databaseUrl('replica', config.replica ?? (env['SLUICE_REPLICA_URL'] || undefined)),
      schema: checkSchemaName(config.schema ?? defaults.schema),
      workSize: concurrency + 1 + Math.min(jobWorker.concurrency, 20) + (config.sweeps?.length ?? 0),
      timeouts: {
        statementMs: duration('timeouts.statement', timeouts.statement),
        lockMs: duration('timeouts.lock', timeouts.lock),
        idleInTransactionMs: duration('timeouts.idleInTransaction', timeouts.idleInTransaction),
      },
    },
    worker: {
      concurrency,
      leaseMs: duration('worker.lease', worker.lease, 1_000),
      pollMs: duration('worker.poll', worker.poll, 10),
      noProgressMs: duration('worker.noProgress', worker.noProgress, 1_000),
      stopMs: duration('worker.stop', worker.stop),
      abortMs: 5_000,
      carveMs: 2_000,
      keepDays: daysOf('history.keep', config.history?.keep ?? defaults.history.keep),
    },
    jobWorker,
    governor: resolveGovernor(config),
    ...knownOf(config),
    machines: config.machines ?? [],
    reconcilers: config.reconcilers ?? [],
    inboxes: config.inboxes ?? [],
    sweeps: config.sweeps ?? [],
    alerts: resolveAlerts(config.alerts),
    redact: checkedPaths(config.redact),
    keepSampleDays: daysOf('history.samples', config.history?.samples ?? defaults.history.samples),
  }
}

function resolveJobs({ worker, history }: SluiceConfig): JobOptions {
  const given = { ...defaults.worker.jobs, ...worker?.jobs }
  const kept = { ...defaults.history, ...history }
  for (const key of Object.keys(worker?.jobs ?? {})) {
    if (!jobKeys.includes(key)) throw invalid(`worker.jobs.${key}`, `is not an option.${didYouMean(key, jobKeys)}`)
  }
  return {
    concurrency: positive('worker.jobs.concurrency', given.concurrency, 10_000),
    pollMs: duration('worker.jobs.poll', given.poll, 10),
    queues: weights(worker?.jobs?.queues),
    keepDays: daysOf('history.jobs', kept.jobs),
    keepDeadDays: daysOf('history.deadJobs', kept.deadJobs),
  }
}

const jobKeys = ['concurrency', 'poll', 'queues']

function weights(queues: readonly string[] | Readonly<Record<string, number>> | undefined): JobOptions['queues'] {
  if (queues === undefined) return undefined
  const entries = Array.isArray(queues) ? queues.map((name) => [String(name), 1] as const) : Object.entries(queues)
  if (entries.length === 0) throw invalid('worker.jobs.queues', 'must name at least one queue')
  for (const [name, weight] of entries) {
    checkQueueName(name)
    if (!(weight > 0 && weight <= 1_000)) throw invalid(`worker.jobs.queues.${name}`, 'must be a weight above 0')
  }
  return Object.fromEntries(entries)
}

/** The connection string that the environment names; undefined also when only PG* variables do. */
function databaseFromEnvironment(env: NodeJS.ProcessEnv): string | undefined {
  return env['SLUICE_DATABASE_URL'] || env['DATABASE_URL'] || undefined
}

function databaseUrl(option: string, url: string | undefined): string | undefined {
  if (url === undefined || /^postgres(ql)?:\/\//.test(url)) return url
  throw invalid(option, 'must be a connection string that starts with postgres:// (its value is not shown here)')
}

function duration(option: string, value: unknown, leastMs = 1): number {
  const ms = parseDuration(value)
  if (ms !== undefined && ms >= leastMs && ms <= longest) return Math.round(ms)
  throw invalid(option, `must be a time such as "30s" or "5m", at least ${leastMs} ms, not ${JSON.stringify(value)}`)
}

function checkedPaths(paths: readonly string[] = []): readonly string[] {
  const problem = problemOfPaths(paths)
  if (problem !== undefined) throw invalid('redact', problem)
  return paths
}

function daysOf(option: string, value: unknown): number {
  return Math.ceil(duration(option, value, day) / day)
}

function positive(option: string, value: number, most = 200): number {
  if (Number.isSafeInteger(value) && value > 0 && value <= most) return value
  throw invalid(option, `must be a whole number from 1 to ${most}, not ${JSON.stringify(value)}`)
}

function checkKeys(room: keyof typeof known, value: object | undefined): void {
  if (value === undefined) return
  if (typeof value !== 'object' || value === null) throw invalid(room, 'must be an object')
  for (const key of Object.keys(value)) {
    if ((known[room] as readonly string[]).includes(key)) continue
    const option = room === '' ? key : `${room}.${key}`
    throw invalid(option, `is not an option.${didYouMean(key, known[room])}`)
  }
}

function invalid(option: string, problem: string): SluiceError {
  return new SluiceError('CONFIG_INVALID', {
    message: `The configuration is wrong: "${option}" ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
    details: { option },
  })
}
