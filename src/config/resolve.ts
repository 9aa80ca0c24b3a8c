import { resolveAlerts, type AlertOptions } from '../observe/alerts/options.ts'
import type { GovernorOptions } from '../governor/governor.ts'
import { resolveGovernor } from '../governor/options.ts'
import type { InboxDefinition } from '../patterns/inbox/define.ts'
import type { JobOptions } from '../jobs/worker.ts'
import { checkQueueName } from '../jobs/enqueue.ts'
import type { JobDefinition } from '../jobs/definition.ts'
import { mostTransactions } from '../jobs/runner.ts'
import type { MachineDefinition } from '../patterns/machines/definition.ts'
import type { OperationDefinition } from '../operations/definition.ts'
import type { WorkerOptions } from '../operations/worker.ts'
import type { ReconcilerDefinition } from '../patterns/reconcilers/define.ts'
import type { ScheduleDefinition } from '../patterns/schedules/define.ts'
import { knownOf } from '../patterns/schedules/known.ts'
import { problemOfPaths } from '../std/mask.ts'
import { problemOfUrl } from '../store/client.ts'
import type { DatabaseOptions } from '../store/database.ts'
import { poolers, type Pooler } from '../store/pooler.ts'
import { checkSchemaName } from '../store/statement.ts'
import type { SweepDefinition } from '../patterns/sweeps/definition.ts'
import { defaults, type SluiceConfig } from './config.ts'
import { checkNames, timeOf, wholeOf, wrongOption } from './option.ts'

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

const known = {
  '': [
    'database',
    'replica',
    'pooler',
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
  worker: ['concurrency', 'lease', 'poll', 'noProgress', 'stop', 'giveUp', 'jobs'],
  governor: ['every', 'patience', 'cores', 'limits'],
  budget: ['rowsPerSecond', 'walBytesPerSecond'],
  timeouts: ['statement', 'lock', 'idleInTransaction'],
  history: ['keep', 'jobs', 'deadJobs', 'samples', 'summaries', 'audit'],
  embedded: ['dataDir', 'port'],
} as const

/** Checks a configuration and fills in the defaults. The environment decides where the code says nothing. */
export function resolveConfig(config: SluiceConfig, env: NodeJS.ProcessEnv): ResolvedConfig {
  for (const room of Object.keys(known) as (keyof typeof known)[])
    checkNames(room, room === '' ? config : config[room], known[room])
  for (const place of ['database', 'schema'] as const) checkNamed(place, config)
  const worker = { ...defaults.worker, ...config.worker }
  const timeouts = { ...defaults.timeouts, ...config.timeouts }
  const kept = config.history ?? {}
  const concurrency = wholeOf('worker.concurrency', worker.concurrency)
  const jobWorker = resolveJobs(config)
  return {
    database: {
      url: databaseUrl('database', config.database ?? databaseFromEnvironment(env)),
      replica: databaseUrl('replica', config.replica ?? (env['SLUICE_REPLICA_URL'] || undefined)),
      pooler: poolerOf(config.pooler ?? defaults.pooler),
      schema: checkSchemaName(config.schema ?? defaults.schema),
      workSize: concurrency + 1 + Math.min(jobWorker.concurrency, mostTransactions) + (config.sweeps?.length ?? 0),
      timeouts: {
        statementMs: timeOf('timeouts.statement', timeouts.statement),
        lockMs: timeOf('timeouts.lock', timeouts.lock),
        idleInTransactionMs: timeOf('timeouts.idleInTransaction', timeouts.idleInTransaction),
      },
    },
    worker: {
      concurrency,
      leaseMs: timeOf('worker.lease', worker.lease, { leastMs: 1_000 }),
      pollMs: timeOf('worker.poll', worker.poll, { leastMs: 10 }),
      noProgressMs: timeOf('worker.noProgress', worker.noProgress, { leastMs: 1_000 }),
      stopMs: timeOf('worker.stop', worker.stop),
      giveUpMs: worker.giveUp === undefined ? undefined : timeOf('worker.giveUp', worker.giveUp, { leastMs: 1_000 }),
      abortMs: 5_000,
      carveMs: 2_000,
      keepDays: daysOf('history.keep', kept.keep ?? defaults.history.keep),
      keepSummaryDays: daysOf('history.summaries', kept.summaries ?? defaults.history.summaries),
      keepAuditDays: daysOf('history.audit', kept.audit ?? defaults.history.audit, 30),
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
    keepSampleDays: daysOf('history.samples', kept.samples ?? defaults.history.samples),
  }
}

function resolveJobs({ worker, history }: SluiceConfig): JobOptions {
  const given = { ...defaults.worker.jobs, ...worker?.jobs }
  const kept = { ...defaults.history, ...history }
  checkNames('worker.jobs', worker?.jobs, jobKeys)
  return {
    concurrency: wholeOf('worker.jobs.concurrency', given.concurrency, 10_000),
    pollMs: timeOf('worker.jobs.poll', given.poll, { leastMs: 10 }),
    queues: weights(worker?.jobs?.queues),
    keepDays: daysOf('history.jobs', kept.jobs),
    keepDeadDays: daysOf('history.deadJobs', kept.deadJobs),
  }
}

const jobKeys = ['concurrency', 'poll', 'queues']

function weights(queues: readonly string[] | Readonly<Record<string, number>> | undefined): JobOptions['queues'] {
  if (queues === undefined) return undefined
  const entries = Array.isArray(queues) ? queues.map((name) => [String(name), 1] as const) : Object.entries(queues)
  if (entries.length === 0) throw wrongOption('worker.jobs.queues', 'must name at least one queue')
  for (const [name, weight] of entries) {
    checkQueueName(name)
    if (!(weight > 0 && weight <= 1_000)) throw wrongOption(`worker.jobs.queues.${name}`, 'must be a weight above 0')
  }
  return Object.fromEntries(entries)
}

/** An option that says where our tables are is left out or has a value: a missing variable must not choose for it. */
function checkNamed(option: 'database' | 'schema', config: SluiceConfig): void {
  if (!(option in config) || (config[option] ?? undefined) !== undefined) return
  const instead =
    option === 'database' ? 'SLUICE_DATABASE_URL, DATABASE_URL or the PG* variables' : `"${defaults.schema}"`
  throw wrongOption(
    option,
    `is given, but has no value. Is a variable missing that it is read from? Set it; or leave "${option}" out to use ${instead}`,
  )
}

/** The connection string that the environment names; undefined also when only PG* variables do. */
function databaseFromEnvironment(env: NodeJS.ProcessEnv): string | undefined {
  return env['SLUICE_DATABASE_URL'] || env['DATABASE_URL'] || undefined
}

function databaseUrl(option: string, url: string | undefined): string | undefined {
  const problem = url === undefined ? undefined : problemOfUrl(url)
  if (problem !== undefined) throw wrongOption(option, `${problem} (its value is not shown here)`)
  return url
}

function poolerOf(given: unknown): Pooler {
  const found = poolers.find((pooler) => pooler === given)
  if (found === undefined) throw wrongOption('pooler', `must be one of ${poolers.join(', ')}`)
  return found
}

function checkedPaths(paths: readonly string[] = []): readonly string[] {
  const problem = problemOfPaths(paths)
  if (problem !== undefined) throw wrongOption('redact', problem)
  return paths
}

const day = 86_400_000

function daysOf(option: string, value: unknown, least = 1): number {
  return Math.ceil(timeOf(option, value, { leastMs: least * day }) / day)
}
