import { errorRecord } from '../std/error-record.ts'
import { onTransaction, type Connection, type StoreConnection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import {
  admit,
  enqueue,
  enqueueAlone,
  enqueueNames,
  enqueuePlain,
  isolation,
  notify,
  type EnqueuedRow,
  type NewJob,
} from '../store/jobs/enqueue.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { newJobs } from './hints.ts'

/** Other processes get a hint at most so often. */
const hintEveryMs = 5
/**
 * When hints follow jobs that were recorded in somebody else's transaction, each so long after the one before. Its commit
 * is not seen here, and most come soon; what comes later is found by polling.
 */
const hintsAfterMs = [10, 40, 200]

const priorities = { high: 0, normal: 1, low: 2 } as const

/** A new job whose args are not known yet. */
export type Unbound = Omit<NewJob, 'args'>

interface Deps {
  database: () => Promise<Database>
  telemetry: Telemetry
  /** Whether this process works on jobs and could begin one at once. */
  idle: () => boolean
  /** Wakes those who work on jobs in this process. */
  wake: () => void
}

/** The way into the database for new jobs, and the hints to those who may run them. */
export class Entrance {
  readonly #deps: Deps
  /** Names that are in the database already. Their ids are not remembered: a restore may give them to other names. */
  readonly #met = { class: new Set<string>(), queue: new Set<string>() }
  #hintedAt = -Infinity
  #hint: NodeJS.Timeout | undefined
  /** The next of the hints that follow somebody else's transaction. */
  #soon: { timer: NodeJS.Timeout; round: number } | undefined

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /**
   * Records jobs in a transaction of our own, lets in those with a key, and wakes whoever may run them. Waits for a lock
   * for so long at most.
   */
  async pass(jobs: readonly NewJob[], lockMs?: number): Promise<EnqueuedRow[]> {
    return this.carry(jobs, async (database, withHint) => {
      if (jobs.every(isPlain)) return this.#passPlain(database, jobs, withHint)
      const limitMs = lockMs ?? database.options.timeouts.lockMs
      return enqueueAlone(database.control, { jobs, notify: withHint, lockMs: limitMs })
    })
  }

  /** How long an enqueue waits for somebody else's transaction. */
  async patienceMs(): Promise<number> {
    return (await this.#deps.database()).options.timeouts.lockMs
  }

  /** The same for whoever records jobs together with something else. */
  async carry<T>(jobs: readonly Unbound[], record: (database: Database, withHint: boolean) => Promise<T>): Promise<T> {
    const database = await this.#deps.database()
    // Who is idle here needs nobody elsewhere. A hint that goes with the transaction costs no round trip.
    const needsHint = !this.#deps.idle()
    const withHint = needsHint && this.#hintDue()
    const recorded = await record(database, withHint)
    const keys = [...new Set(jobs.flatMap(({ key }) => (key === undefined ? [] : [key.name])))]
    await this.admit(database, keys)
    this.#deps.wake()
    if (needsHint && !withHint) this.#hintLater(database)
    return recorded
  }

  /**
   * Records jobs in somebody else's transaction. Hints come beside it: PostgreSQL lets transactions with a notification
   * commit one after the other, which would slow down all that the application does.
   */
  async passIn(tx: Connection, jobs: readonly NewJob[], { notify: inside = false } = {}): Promise<EnqueuedRow[]> {
    return this.carryIn(tx, jobs, async (connection) => enqueue(connection, { jobs, notify: inside }))
  }

  /** The same for whoever records jobs together with something else. */
  async carryIn<T>(
    tx: Connection,
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

  /** Gives hints for a while: somebody is about to commit new jobs. Those who come meanwhile share them. */
  hintSoon(database: Database): void {
    if (this.#soon?.round === 0) return
    clearTimeout(this.#soon?.timer)
    this.#hintIn(database, 0)
  }

  /** Makes new names known before a transaction of our own begins: in it there may be no further connection left. */
  async meet(jobs: readonly Unbound[]): Promise<void> {
    if (this.#unknown(jobs)) await this.#learn(await this.#deps.database(), jobs)
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
    this.#deps.wake()
    const { control } = await this.#deps.database()
    await notify(control, { hint: newJobs() }).catch(() => undefined)
  }

  async #passPlain(database: Database, jobs: readonly NewJob[], withHint: boolean): Promise<EnqueuedRow[]> {
    const plain = jobs.map(({ job, queue = 'default', priority = 'normal', args }) => ({
      job,
      queue,
      priority: priorities[priority],
      args,
    }))
    const ids = await enqueuePlain(database.control, { jobs: plain, notify: withHint })
    return ids.map((id, at) => ({ at, id, duplicate: false }))
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
      this.#deps.wake()
      if (!this.#deps.idle()) notify(database.control, { hint: newJobs() }).catch(() => undefined)
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
export function isPlain({ unique, key, tags, delayMs, runAt, batch }: NewJob): boolean {
  const timed = delayMs !== undefined || runAt !== undefined
  return unique === null && key === undefined && tags === undefined && !timed && batch === undefined
}
