import { resolveConfig, type ResolvedConfig, type SluiceConfig } from './config.ts'
import { examine, type Finding } from './health/doctor.ts'
import type { OperationRegistry } from './operations/define.ts'
import { JobBench } from './jobs/bench.ts'
import type { ContextTools } from './jobs/context.ts'
import { JobCrew } from './jobs/crew.ts'
import type { JobDefinition, JobRegistry } from './jobs/define.ts'
import { Jobs } from './jobs/jobs.ts'
import { Queues } from './jobs/queues.ts'
import { Operations } from './operations/operations.ts'
import { Registry } from './runtime/registry.ts'
import { Tenants } from './operations/tenants.ts'
import { Worker } from './operations/worker.ts'
import { SweepCrew } from './sweeps/crew.ts'
import type { SweepRegistry } from './sweeps/define.ts'
import { Sweeps } from './sweeps/sweeps.ts'
import { openDatabase, type Database } from './store/database.ts'
import { listWorkers, type WorkerView } from './store/jobs/views.ts'
import { migrate, schemaStatus, type MigrationResult } from './store/migrate.ts'
import { Pool } from './store/pool.ts'
import type { EventName, Events } from './telemetry/events.ts'
import { logEvents, type LogOptions } from './telemetry/log.ts'
import { Telemetry, type AnyEvent } from './telemetry/telemetry.ts'

/**
 * The front door: connects to the database when first needed, starts operations, and works on them.
 *
 * @example
 * ```ts
 * import { expire, Sluice } from 'sluice'
 *
 * const expireEvents = expire({ name: 'expire-events', table: 'events', olderThan: '90 days', by: 'created_at' })
 *
 * await using sluice = new Sluice({ database: process.env.DATABASE_URL, operations: [expireEvents] })
 * await sluice.migrate()
 * await sluice.start()
 * const { id } = await sluice.operations.start(expireEvents)
 * await sluice.operations.wait(id)
 * ```
 */
export class Sluice implements AsyncDisposable {
  readonly operations: Operations
  readonly tenants: Tenants
  readonly jobs: Jobs
  readonly queues: Queues
  readonly sweeps: Sweeps
  readonly #config: ResolvedConfig
  readonly #registry: OperationRegistry
  readonly #jobRegistry: JobRegistry
  readonly #sweepRegistry: SweepRegistry
  readonly #telemetry = new Telemetry()
  #database: Promise<Database> | undefined
  #worker: Worker | undefined
  #crew: JobCrew | undefined
  #sweepCrew: SweepCrew | undefined

  /** Enqueues for a handler. */
  readonly #enqueue: ContextTools['enqueue'] =
    (tx) =>
    (definition, ...rest) =>
      this.jobs.enqueueIn(tx, definition, ...rest)

  constructor(config: SluiceConfig = {}) {
    this.#config = resolveConfig(config, process.env)
    this.#registry = new Registry('operation', this.#config.operations)
    const database = (): Promise<Database> => this.#connect()
    const work = (names: string[]): Promise<AsyncDisposable> => this.#workOn(names)
    this.tenants = new Tenants(database)
    this.queues = new Queues({ database, telemetry: this.#telemetry })
    this.jobs = new Jobs({
      database,
      telemetry: this.#telemetry,
      idle: () => this.#crew?.idle === true,
      wake: () => this.#crew?.wake(),
    })
    this.#sweepRegistry = new Registry('sweep', this.#config.sweeps)
    this.sweeps = new Sweeps({
      database,
      registry: this.#sweepRegistry,
      telemetry: this.#telemetry,
      wake: (name) => this.#sweepCrew?.wake(name),
    })
    this.#jobRegistry = new Registry<JobDefinition>('job', [...this.#config.jobs, this.jobs.bulkDefinition])
    this.operations = new Operations({ database, registry: this.#registry, telemetry: this.#telemetry, work })
  }

  /** @internal What `sluice/testing` needs of the engine. */
  get jobBench(): JobBench {
    const database = (): Promise<Database> => this.#connect()
    return new JobBench({ database, telemetry: this.#telemetry, registry: this.#jobRegistry, enqueue: this.#enqueue })
  }

  /** Begins to take work in this process. Refuses a schema that this release does not know. */
  async start(): Promise<void> {
    if (this.#worker !== undefined) return
    const [database, telemetry, registry] = [await this.#connect(), this.#telemetry, this.#jobRegistry]
    const crew = new JobCrew(this.#config.jobWorker, { database, telemetry, registry, enqueue: this.#enqueue })
    const { pollMs } = this.#config.worker
    const sweepCrew = await SweepCrew.assemble({ database, telemetry, registry: this.#sweepRegistry, pollMs })
    const { queues, concurrency } = this.#config.jobWorker
    const skills = { jobs: registry.names, queues: Object.keys(queues ?? {}), concurrency }
    const worker = new Worker(this.#config.worker, {
      database,
      telemetry,
      registry: this.#registry,
      crews: [crew, sweepCrew],
      skills,
    })
    await worker.start()
    this.#worker = worker
    this.#crew = crew
    this.#sweepCrew = sweepCrew
  }

  /** Ends the work in this process, gives back what it held, and closes all connections. */
  async stop(): Promise<void> {
    await this.#worker?.stop()
    this.#worker = undefined
    this.#crew = undefined
    this.#sweepCrew = undefined
    const database = this.#database
    this.#database = undefined
    // A connection that never opened needs no closing.
    await database?.then((open) => open.close()).catch(() => undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** Brings the schema to the version of this release. */
  async migrate(): Promise<MigrationResult> {
    const pool = new Pool({
      ...this.#config.database,
      purpose: 'migrate',
      size: 1,
      // Limits go into the transaction: right with and without a pooler.
      pooled: true,
      timeouts: { statementMs: 60_000, lockMs: 15_000, idleInTransactionMs: 60_000 },
    })
    try {
      const result = await migrate(pool)
      if (result.applied.length > 0) this.#telemetry.emit('schema.migrated', { from: result.from, to: result.to })
      return result
    } finally {
      await pool.end()
    }
  }

  /** The names of migrations that this release brings and the database lacks. */
  async pendingMigrations(): Promise<string[]> {
    const { control } = await this.#connect()
    return (await schemaStatus(control)).pending.map(({ name }) => name)
  }

  /** Looks at everything that commonly goes wrong; each finding says what to do. */
  async doctor(): Promise<Finding[]> {
    return examine(await this.#connect())
  }

  /** Calls `subscriber` with each event of one name until the returned function is called. */
  on<N extends EventName>(name: N, subscriber: (payload: Events[N]) => void): () => void {
    return this.#telemetry.on(name, subscriber)
  }

  /** Calls `subscriber` with every event until the returned function is called. */
  onAny(subscriber: (event: AnyEvent) => void): () => void {
    return this.#telemetry.onAny(subscriber)
  }

  /** Writes every event to a stream: JSON lines, or short text on a terminal. Returns the function that stops it. */
  log(options: LogOptions): () => void {
    return logEvents(this.#telemetry, options)
  }

  /** The workers that are there, with what they can do and what they hold. */
  async workers(): Promise<WorkerView[]> {
    return listWorkers((await this.#connect()).control)
  }

  /** A worker beside the usual one, for some of the operations only. */
  async #workOn(names: string[]): Promise<AsyncDisposable> {
    const registry = new Registry(
      'operation',
      this.#config.operations.filter(({ name }) => names.includes(name)),
    )
    const worker = new Worker(this.#config.worker, {
      database: await this.#connect(),
      registry,
      telemetry: this.#telemetry,
    })
    await worker.start()
    return { [Symbol.asyncDispose]: () => worker.stop() }
  }

  #connect(): Promise<Database> {
    this.#database ??= openDatabase(this.#config.database).catch((error: unknown) => {
      this.#database = undefined
      throw error
    })
    return this.#database
  }
}
