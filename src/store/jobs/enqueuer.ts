import type {
  CallersTransaction,
  EnqueuedRow,
  EnqueueOrder,
  NewJob,
  QueueWorker,
  RecordOrder,
  Unbound,
} from '../../jobs/queue.ts'
import { errorRecord } from '../../std/error-record.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { audited } from '../audit.ts'
import { Coalescer } from '../coalescer.ts'
import { onTransaction, type StoreConnection } from '../connection.ts'
import type { Database } from '../database.ts'
import {
  admit,
  enqueue,
  enqueueAlone,
  enqueueNames,
  enqueuePlain,
  isolation,
  notify,
  type RecordedRow,
} from './enqueue.ts'
import { newJobs } from './hints.ts'

/** Other processes get at most one hint in this time. */
const hintEveryMs = 5
/**
 * When hints follow jobs that were recorded in somebody else's transaction, each so long after the one before. Its commit
 * is not seen here, and most come soon; what comes later is found by polling.
 */
const hintsAfterMs = [10, 40, 200]
/** Jobs per statement when callers share one. */
const perStatement = 1_000

const priorities = { high: 0, normal: 1, low: 2 } as const

interface Deps {
  database: () => Promise<Database>
  telemetry: Telemetry
  /** Those of this process that listen. */
  workers: ReadonlySet<QueueWorker>
}

/** Records new jobs, and sends hints to those who may run them. */
export class Enqueuer {
  readonly #deps: Deps
  /** Names that are in the database already. Their ids are not remembered: a restore may give them to other names. */
  readonly #met = { class: new Set<string>(), queue: new Set<string>() }
  readonly #plain: Coalescer<NewJob, EnqueuedRow>
  /** Of jobs with keys the first call comes first. */
  readonly #inOrder: Coalescer<NewJob, EnqueuedRow>
  #hintedAt = -Infinity
  #hint: NodeJS.Timeout | undefined
  /** The next of the hints that follow somebody else's transaction. */
  #soon: { timer: NodeJS.Timeout; round: number } | undefined

  constructor(deps: Deps) {
    this.#deps = deps
    const pass = (jobs: NewJob[], lockMs: number): Promise<EnqueuedRow[]> => this.#pass(jobs, lockMs)
    const patienceMs = async (): Promise<number> => (await deps.database()).options.timeouts.lockMs
    this.#plain = new Coalescer(pass, { most: perStatement, flights: 2, patienceMs })
    this.#inOrder = new Coalescer(pass, { most: perStatement, flights: 1, patienceMs })
  }

  async enqueue(
    jobs: readonly NewJob[],
    { tx, notify: inside = false, audit }: EnqueueOrder = {},
  ): Promise<EnqueuedRow[]> {
    if (jobs.length === 0) return []
    if (audit !== undefined) return this.#passAudited(jobs, audit)
    if (tx !== undefined) {
      return this.#recordIn(tx, jobs, async (connection) =>
        (await enqueue(connection, { jobs, notify: inside })).map(numbered),
      )
    }
    const [job] = jobs
    // What joins a batch of jobs may be refused, and must not take others along.
    if (jobs.length !== 1 || job === undefined || job.batch !== undefined) return this.#pass(jobs)
    return [await (isPlain(job) ? this.#plain : this.#inOrder).add(job)]
  }

  /** The same for jobs that a statement of somebody else records together with something else. */
  async record<T>(jobs: readonly Unbound[], { tx, record }: RecordOrder<T>): Promise<T> {
    if (tx === undefined) return this.#carry(jobs, async ({ control }, hint) => record(control, hint))
    return this.#recordIn(tx, jobs, async (connection) => record(connection, false))
  }

  /** Gives hints for a while: somebody is about to commit new jobs. Those who come meanwhile share them. */
  hintSoon(database: Database): void {
    if (this.#soon?.round === 0) return
    clearTimeout(this.#soon?.timer)
    this.#hintIn(database, 0)
  }

  /** Lets in what waits for these keys. The jobs are recorded already: what fails here is left to the next sweep. */
  async admit({ control }: Database, keys: readonly string[]): Promise<void> {
    await admit(control, { keys }).catch((error: unknown) => {
      const message = `Jobs with concurrency keys were not let in at once, the next sweep does it: ${errorRecord(error).message}`
      this.#deps.telemetry.emit('warning', { message })
    })
  }

  /** Says to all workers that there is something to do. */
  async tellAll(): Promise<void> {
    this.wake()
    const { control } = await this.#deps.database()
    await notify(control, { hint: newJobs() }).catch(() => undefined)
  }

  /** Says so to those of this process. */
  wake(): void {
    for (const { hint } of this.#deps.workers) hint.notify()
  }

  /** Makes new names known before a transaction of our own begins: in it there may be no further connection left. */
  async meet(jobs: readonly Unbound[], within?: StoreConnection): Promise<void> {
    if (!this.#unknown(jobs)) return
    const database = await this.#deps.database()
    await (within === undefined ? this.#learn(database, jobs) : this.#learnBeside(within, database, jobs))
  }

  /** Whether a worker of this process could begin a job at once. */
  get #idle(): boolean {
    for (const { idle } of this.#deps.workers) if (idle) return true
    return false
  }

  /**
   * Records jobs in a transaction of our own, lets in those with a key, and wakes whoever may run them. Waits for a lock
   * for so long at most.
   */
  async #pass(jobs: readonly NewJob[], lockMs?: number): Promise<EnqueuedRow[]> {
    return this.#carry(jobs, async (database, withHint) => {
      if (jobs.every(isPlain)) return this.#passPlain(database, jobs, withHint)
      const limitMs = lockMs ?? database.options.timeouts.lockMs
      const rows = await enqueueAlone(database.control, { jobs, notify: withHint, lockMs: limitMs })
      return rows.map(numbered)
    })
  }

  async #passAudited(
    jobs: readonly NewJob[],
    { who, action, after }: NonNullable<EnqueueOrder['audit']>,
  ): Promise<EnqueuedRow[]> {
    await this.meet(jobs)
    const database = await this.#deps.database()
    const recorded = await audited(database, who, async (tx) => {
      const result = (await enqueue(tx, { jobs, notify: false })).map(numbered)
      return { result, act: { action, target: String(result[0]?.id), after } }
    })
    this.hintSoon(database)
    this.wake()
    return recorded
  }

  async #carry<T>(jobs: readonly Unbound[], record: (database: Database, withHint: boolean) => Promise<T>): Promise<T> {
    const database = await this.#deps.database()
    // If this process is idle, no other needs a hint. One that goes with the transaction costs no round trip.
    const needsHint = !this.#idle
    const withHint = needsHint && this.#hintDue()
    const recorded = await record(database, withHint)
    const keys = [...new Set(jobs.flatMap(({ key }) => (key === undefined ? [] : [key.name])))]
    await this.admit(database, keys)
    this.wake()
    if (needsHint && !withHint) this.#hintLater(database)
    return recorded
  }

  /**
   * Records jobs in somebody else's transaction. Hints come beside it: PostgreSQL lets transactions with a notification
   * commit one after the other, which would slow down all that the application does.
   */
  async #recordIn<T>(
    tx: CallersTransaction,
    jobs: readonly Unbound[],
    record: (connection: StoreConnection) => Promise<T>,
  ): Promise<T> {
    const database = await this.#deps.database()
    const connection = onTransaction(tx, database.control.schema)
    if (this.#unknown(jobs)) await this.#learnBeside(connection, database, jobs)
    const recorded = await record(connection)
    this.hintSoon(database)
    return recorded
  }

  async #passPlain(database: Database, jobs: readonly NewJob[], withHint: boolean): Promise<EnqueuedRow[]> {
    const plain = jobs.map(({ job, queue = 'default', priority = 'normal', args }) => ({
      job,
      queue,
      priority: priorities[priority],
      args,
    }))
    const ids = await enqueuePlain(database.control, { jobs: plain, notify: withHint })
    return ids.map((id) => ({ id, duplicate: false }))
  }

  /** Makes new names on a connection of our own: in the caller's transaction, all others would wait for its end. */
  async #learnBeside(connection: StoreConnection, database: Database, jobs: readonly Unbound[]): Promise<void> {
    const [found] = await isolation(connection)
    // An older snapshot would not see what is made now: such a transaction makes names of its own.
    if (found?.isolation === 'read committed') await this.#learn(database, jobs).catch(() => undefined)
  }

  #unknown(jobs: readonly Unbound[]): boolean {
    return jobs.some(({ job, queue = 'default' }) => !this.#met.class.has(job) || !this.#met.queue.has(queue))
  }

  async #learn(database: Database, jobs: readonly Unbound[]): Promise<void> {
    const classes = [...new Set(jobs.map(({ job }) => job))]
    const queues = [...new Set(jobs.map(({ queue = 'default' }) => queue))]
    for (const { kind, name } of await enqueueNames(database.control, { classes, queues })) this.#met[kind].add(name)
  }

  #hintIn(database: Database, round: number): void {
    const afterMs = hintsAfterMs[round]
    this.#soon = undefined
    if (afterMs === undefined) return
    const timer = setTimeout(() => {
      this.wake()
      if (!this.#idle) notify(database.control, { hint: newJobs() }).catch(() => undefined)
      this.#hintIn(database, round + 1)
    }, afterMs)
    // A process that is done does not stay for the sake of hints.
    timer.unref()
    this.#soon = { timer, round }
  }

  #hintDue(): boolean {
    const now = performance.now()
    if (this.#hint !== undefined || now - this.#hintedAt < hintEveryMs) return false
    this.#hintedAt = now
    return true
  }

  /** The last hint of a rush is never left out: what came after the one before it would wait for a poll. */
  #hintLater(database: Database): void {
    this.#hint ??= setTimeout(() => {
      this.#hint = undefined
      this.#hintedAt = performance.now()
      notify(database.control, { hint: newJobs() }).catch(() => undefined)
    }, hintEveryMs)
  }
}

/** Whether a job is ready at once and has no keys. */
function isPlain({ unique, key, tags, delayMs, runAt, batch }: NewJob): boolean {
  const timed = delayMs !== undefined || runAt !== undefined
  return unique === null && key === undefined && tags === undefined && !timed && batch === undefined
}

/** A recorded job, whatever the caller's driver makes of a bigint. */
export function numbered({ id, duplicate }: RecordedRow): EnqueuedRow {
  return { id: Number(id), duplicate }
}
