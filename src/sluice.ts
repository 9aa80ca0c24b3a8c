import type { SluiceConfig } from './config/config.ts'
import { resolveConfig, type ResolvedConfig } from './config/resolve.ts'
import { Alerts } from './observe/alerts/alerts.ts'
import { Audit } from './observe/audit/audit.ts'
import type { BatchStore } from './patterns/batches/batch-store.ts'
import { Batches } from './patterns/batches/batches.ts'
import { memberBatch } from './patterns/batches/open-batch.ts'
import { Governor } from './governor/governor.ts'
import { examine, type Finding } from './observe/doctor.ts'
import { Inboxes } from './patterns/inbox/inboxes.ts'
import { Once, type OnceContext, type OnceOptions } from './patterns/inbox/once.ts'
import { JobBench } from './jobs/bench.ts'
import type { ContextTools } from './jobs/context.ts'
import type { JobDefinition } from './jobs/definition.ts'
import { Jobs } from './jobs/jobs.ts'
import type { JobQueue } from './jobs/queue.ts'
import { Queues } from './jobs/queues.ts'
import { Machines } from './patterns/machines/machines.ts'
import { Operations } from './operations/operations.ts'
import { Reconcilers } from './patterns/reconcilers/reconcilers.ts'
import { drain, type DrainOptions } from './runtime/drain.ts'
import { Registry } from './runtime/registry.ts'
import { ScheduleBench } from './patterns/schedules/bench.ts'
import { Schedules } from './patterns/schedules/schedules.ts'
import type { Start } from './patterns/schedules/settle.ts'
import { Tenants } from './operations/tenants.ts'
import { Recorder } from './observe/samples/recorder.ts'
import { Samples } from './observe/samples/samples.ts'
import { Sweeps } from './patterns/sweeps/sweeps.ts'
import { beginOperations, beginShift, type Place, type Shift } from './process.ts'
import { knownBy, type Known } from './registries.ts'
import { openDatabase, type Database } from './store/database.ts'
import { postgresTarget } from './targets/postgres/target.ts'
import type { Target } from './targets/target.ts'
import { checkForTests } from './store/for-tests.ts'
import { PostgresBatches } from './store/jobs/postgres-batches.ts'
import { PostgresQueue } from './store/jobs/postgres-queue.ts'
import { QueueForTests } from './store/jobs/bench.ts'
import { listWorkers, type WorkerView } from './store/jobs/views.ts'
import { migrateDatabase, pendingNames, type MigrationResult } from './store/migrate.ts'
import type { EventName, Events } from './telemetry/events.ts'
import { logEvents, type LogOptions } from './telemetry/log.ts'
import { replicaNews } from './telemetry/replica-news.ts'
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
  readonly schedules: Schedules
  readonly machines: Machines
  readonly reconcilers: Reconcilers
  readonly inboxes: Inboxes
  readonly batches: Batches
  readonly sweeps: Sweeps
  readonly samples: Samples
  readonly audit: Audit
  readonly alerts: Alerts
  readonly #given: SluiceConfig
  readonly #config: ResolvedConfig
  readonly #known: Known
  readonly #queue: JobQueue
  readonly #batchStore: BatchStore
  readonly #once = new Once(() => this.#connect())
  readonly #telemetry = new Telemetry()
  readonly #recorder = new Recorder({ database: () => this.#connect(), telemetry: this.#telemetry })
  #database: Promise<Database> | undefined
  #shift: Shift | undefined
  #starting: Promise<void> | undefined
  #governor: Governor | undefined

  /** Enqueues for a handler. */
  readonly #enqueue: ContextTools['enqueue'] =
    (tx) =>
    (definition, ...rest) =>
      this.jobs.enqueueIn(tx, definition, ...rest)

  /** Starts what a schedule is for, by the verbs that everybody has. */
  readonly #startScheduled: Start = async ({ kind, definition }, args, tx) =>
    kind === 'job'
      ? this.jobs.enqueue(definition, args as never, { tx })
      : this.operations.start(definition, args as never, { tx, source: 'schedule' })

  /** Lets a handler add to the batch of jobs that it is a member of. */
  readonly #batch: NonNullable<ContextTools['batch']> = (member) => memberBatch(this.jobs, member)

  constructor(config: SluiceConfig = {}) {
    this.#given = config
    this.#config = resolveConfig(config, process.env)
    const { machines, redact } = this.#config
    const telemetry = this.#telemetry
    const database = (): Promise<Database> => this.#connect()
    const target = async (): Promise<Target> => postgresTarget(await database())
    const wakeSweep = (name: string): void => this.#shift?.sweepCrew.wake(name)
    const work = (names: string[]): Promise<AsyncDisposable> => this.#workOn(names)
    const secret = (name: string): readonly string[] =>
      this.#known.jobs.has(name) ? this.#known.jobs.find(name).redact : redact
    const known = knownBy(this.#config)
    this.samples = new Samples(database)
    this.audit = new Audit(database)
    this.alerts = new Alerts(this.#config.alerts, { database, telemetry })
    this.tenants = new Tenants(database)
    const queue = new PostgresQueue({ database, telemetry })
    this.#queue = queue
    this.#batchStore = new PostgresBatches({ database, telemetry, queue })
    this.queues = new Queues({ queue, telemetry })
    this.jobs = new Jobs({ queue, telemetry, redact: secret })
    const { jobs } = this
    this.batches = new Batches({ store: this.#batchStore, jobs })
    this.operations = new Operations({ database, target, telemetry, redact, registry: known.operations, work })
    this.inboxes = new Inboxes({ database, telemetry, queue, registry: known.inboxes })
    this.machines = new Machines({ database, jobs, registry: known.machines })
    this.reconcilers = new Reconcilers({ database, telemetry, jobs, queue, registry: known.reconcilers })
    this.sweeps = new Sweeps({ database, telemetry, registry: known.sweeps, wake: wakeSweep })
    const start = this.#startScheduled
    this.schedules = new Schedules({ database, queue, telemetry, registry: known.schedules, start })
    const own = [...this.inboxes.jobs, ...machines.flatMap(({ steps }) => [...steps.values()]), jobs.bulkDefinition]
    this.#known = { ...known, jobs: new Registry<JobDefinition>('job', [...this.#config.jobs, ...own]) }
  }

  /** @internal What `sluice/testing` needs of the engine. */
  get jobBench(): JobBench {
    const [enqueue, batch, registry, telemetry] = [this.#enqueue, this.#batch, this.#known.jobs, this.#telemetry]
    const database = (): Promise<Database> => this.#testDatabase()
    const tools = { database, queue: this.#queue, telemetry, registry, enqueue, batch }
    return new JobBench({ ...tools, store: new QueueForTests(database) })
  }

  /** @internal What `sluice/testing` needs of schedules. */
  get scheduleBench(): ScheduleBench {
    const [telemetry, start] = [this.#telemetry, this.#startScheduled]
    return new ScheduleBench({ database: () => this.#testDatabase(), queue: this.#queue, telemetry, start })
  }

  /** The database, if it is one for tests. */
  async #testDatabase(): Promise<Database> {
    const database = await this.#connect()
    await checkForTests(database.control, process.env)
    return database
  }

  /** The same with some of the configuration changed, on connections of its own, for who only looks. Stop it, too. */
  beside(changes: Pick<SluiceConfig, 'timeouts' | 'worker'>): Sluice {
    return new Sluice({ ...this.#given, ...changes })
  }

  /** Begins to take work in this process. Refuses a schema that this release does not know. */
  async start(): Promise<void> {
    if (this.#shift !== undefined && !this.#shift.worker.gone) return
    this.#starting ??= this.#begin().finally(() => (this.#starting = undefined))
    await this.#starting
  }

  async #begin(): Promise<void> {
    this.#shift = await beginShift(await this.#place())
  }

  /** Ends the work in this process, gives back what it held, and closes all connections. */
  async stop(): Promise<void> {
    // What is just about to work would otherwise be left behind.
    await this.#starting?.catch(() => undefined)
    await this.#shift?.worker.stop()
    this.#shift = undefined
    const [governor, database] = [this.#governor, this.#database]
    this.#governor = undefined
    this.#database = undefined
    await governor?.close()
    // A connection that never opened needs no closing.
    await database?.then((open) => this.#recorder.close(open).then(() => open.close())).catch(() => undefined)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  /** Brings the schema to the version of this release. */
  async migrate(): Promise<MigrationResult> {
    const result = await migrateDatabase(this.#config.database)
    if (result.applied.length > 0) this.#telemetry.emit('schema.migrated', { from: result.from, to: result.to })
    return result
  }

  /** The names of migrations and function files that this release brings and the database lacks. */
  async pendingMigrations(): Promise<string[]> {
    return pendingNames((await this.#connect()).control)
  }

  /** Looks at everything that commonly goes wrong; each finding says what to do. */
  async doctor(): Promise<Finding[]> {
    const database = await this.#connect()
    return examine(database, await this.#govern(database).examine())
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

  /** Asks a worker to end: it takes no new work, finishes what it runs, and goes. False: it was asked before. */
  async drain(workerId: string, who: DrainOptions = {}): Promise<boolean> {
    return drain(await this.#connect(), workerId, who)
  }

  /**
   * Does work once per key, and gives all who ask the same result: for work that has no natural key in a table. What
   * goes through `tx` commits together with the result, which must be JSON. What fails stores nothing.
   *
   * @example
   * ```ts
   * const charge = await sluice.once(`charge:${request.id}`, async ({ tx }) => {
   *   const { rows } = await tx.query('insert into charges (cents) values ($1) returning id', [500])
   *   return { chargeId: rows[0]?.['id'] }
   * }, { for: '24h' })
   * ```
   */
  async once<T>(key: string, work: (context: OnceContext) => Promise<T> | T, options: OnceOptions = {}): Promise<T> {
    return this.#once.run(key, work, options)
  }

  /** What those who work need of this process. */
  async #place(): Promise<Place> {
    const database = await this.#connect()
    const { jobs, inboxes, alerts } = this
    return {
      config: this.#config,
      database,
      telemetry: this.#telemetry,
      governor: this.#govern(database),
      recorder: this.#recorder,
      known: this.#known,
      verbs: { jobs, inboxes, alerts },
      queue: this.#queue,
      batches: this.#batchStore,
      context: { enqueue: this.#enqueue, batch: this.#batch },
      start: this.#startScheduled,
    }
  }

  /** A worker beside the usual one, for some of the operations only. */
  async #workOn(names: string[]): Promise<AsyncDisposable> {
    const some = this.#config.operations.filter(({ name }) => names.includes(name))
    const worker = await beginOperations(await this.#place(), new Registry('operation', some))
    return { [Symbol.asyncDispose]: () => worker.stop() }
  }

  /** One for the whole process. */
  #govern(database: Database): Governor {
    this.#governor ??= new Governor(this.#config.governor, {
      database,
      target: postgresTarget(database),
      telemetry: this.#telemetry,
    })
    return this.#governor
  }

  #connect(): Promise<Database> {
    this.#database ??= openDatabase(this.#config.database, replicaNews(this.#telemetry)).catch((error: unknown) => {
      this.#database = undefined
      throw error
    })
    return this.#database
  }
}
