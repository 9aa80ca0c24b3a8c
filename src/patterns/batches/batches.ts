/**
 * Batches of jobs: so many independent jobs, and one callback of each kind when they have ended. (The other batch, a
 * key range of an operation, has nothing to do with it.)
 *
 * The model. A batch is opened, given members, and sealed. A member is a job with the id of its batch. Whoever ends a
 * job that is a member counts it in the same transaction, under a lock on the row of the batch; the one who counts the
 * last one enqueues the callbacks and moves the batch to history, there and then. A batch inside of another one is
 * counted by that one when it is over.
 *
 * The invariants. The counters say what has committed, because they commit with it. A batch that is not sealed is not
 * over. A member that adds others is itself unfinished until what it added is there to be seen: so nothing is over
 * too early. Of each kind there is one callback, by a unique row. Locks are taken in one order: jobs, then batches
 * inside of others by id, then the others by id, then keys. Who adds holds only a share of the row, so that a long
 * transaction which adds keeps nobody from counting; only the last one to count waits for it.
 *
 * On a crash nothing is half done: a member either has ended and is counted, or has done neither and runs again. The
 * sweep is for what should not happen (counters changed by hand, rows removed) and for a cancel that was interrupted.
 *
 * Decisions.
 * - Members are counted where they end, in that transaction, so a callback can be neither lost nor early. An
 *   append-only list of deltas, folded later, was considered; one update per completing statement proved cheap enough.
 * - Adding locks no counter: additions are rows of their own, and the next count folds them in. Otherwise a handler
 *   that adds early in a long transaction would block the ends of all other members.
 */
import { audited } from '../../store/audit.ts'
import type { EnqueuedJob } from '../../jobs/definition.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import { reportBatches } from '../../jobs/members.ts'
import { storable } from '../../std/storable.ts'
import { onTransaction, type Connection, type StoreConnection } from '../../store/connection.ts'
import type { Database } from '../../store/database.ts'
import { refuseStale, type Seen } from '../../store/expected.ts'
import { failedMembers, listBatches } from '../../store/job-batch-views.ts'
import * as store from '../../store/job-batches.ts'
import { enqueue, enqueueNames, isolation, type NewJob } from '../../store/jobs/enqueue.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { endMembers } from './cancel.ts'
import { declare, type BatchOptions, type Declaration } from './declaration.ts'
import { OpenBatch } from './open-batch.ts'
import { prepare, type PlannedJob } from './planned.ts'
import { checkBatchId, explained, notFound } from './refusal.ts'
import { batchStates, batchStatusOf, type BatchState, type BatchStatus, type FailedMember } from './status.ts'

interface Deps {
  database: () => Promise<Database>
  telemetry: Telemetry
  jobs: Jobs
  /** Wakes those who work on jobs in this process. */
  wake: () => void
}

/** Batches of jobs, and the id to continue the list from. */
export interface BatchPage {
  batches: BatchStatus[]
  /** Give it as `before` for the next page; null: there is no more. */
  next: number | null
}

/** One statement takes so many jobs. */
const perStatement = 1_000
/** So many failed members are told with a batch. */
const shownFailures = 100

/** Batches of jobs: so many jobs, and one callback when all of them have ended. */
export class Batches {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Opens a batch of jobs, to be given members and to be sealed. */
  async open(options: BatchOptions = {}): Promise<OpenBatch> {
    const declaration = await declare(options)
    const database = await this.#deps.database()
    const { tx } = options
    const connection = tx === undefined ? database.control : onTransaction(tx, database.control.schema)
    await learn(database, tx === undefined ? undefined : connection, declaration.callbacks)
    return this.#handle(await this.#record(connection, declaration, options), tx)
  }

  /** A batch of jobs that was opened elsewhere, by its id. Whether it is there is seen when it is used. */
  at(id: number, { tx }: { tx?: Connection } = {}): OpenBatch {
    return this.#handle(checkBatchId(id), tx)
  }

  /** Opens a batch of jobs, adds its members and seals it, in one transaction. */
  async run(members: readonly PlannedJob[], options: BatchOptions = {}): Promise<{ id: number; jobs: EnqueuedJob[] }> {
    const declaration = await declare(options)
    const jobs: NewJob[] = []
    for (const member of members) jobs.push(await prepare(member))
    const database = await this.#deps.database()
    const within = { declaration, jobs, options }
    if (options.tx !== undefined) {
      const connection = onTransaction(options.tx, database.control.schema)
      await learn(database, connection, [...declaration.callbacks, ...jobs])
      const started = await this.#runIn(connection, within)
      this.#deps.jobs.entrance.hintSoon(database)
      return started
    }
    await learn(database, undefined, [...declaration.callbacks, ...jobs])
    const started = await database.control.transaction((transaction) => this.#runIn(transaction, within))
    const keys = [...new Set(jobs.flatMap(({ key }) => (key === undefined ? [] : [key.name])))]
    await this.#deps.jobs.entrance.admit(database, keys)
    await this.#deps.jobs.entrance.tellAll()
    return started
  }

  /** One batch of jobs with its progress, its callbacks and the first hundred of the members that failed. */
  async get(id: number): Promise<BatchStatus & { failures: FailedMember[] }> {
    const { control } = await this.#deps.database()
    // The latest up to this one.
    const [view] = await listBatches(control, { states: batchStates, before: checkBatchId(id) + 1, limit: 1 })
    if (view === undefined || view.id !== id) throw notFound(id)
    return { ...batchStatusOf(view), failures: await failedMembers(control, { id, limit: shownFailures }) }
  }

  /** Batches of jobs, latest first, a page at a time. Without states: all. */
  async list({
    states = batchStates,
    before = null,
    limit = 50,
  }: { states?: readonly BatchState[]; before?: number | null; limit?: number } = {}): Promise<BatchPage> {
    const { control } = await this.#deps.database()
    const size = Math.min(Math.max(1, limit), 1_000)
    const found = await listBatches(control, { states, before, limit: size + 1 })
    const batches = found.slice(0, size).map(batchStatusOf)
    return { batches, next: found.length > size ? (batches.at(-1)?.id ?? null) : null }
  }

  /**
   * Ends what is left of a batch of jobs, and of those inside of it: members that wait at once, running ones by their
   * signal. Then it is over: `onComplete` is called, `onSuccess` is not.
   */
  async cancel(id: number, who: Seen<BatchState> = {}): Promise<BatchStatus & { failures: FailedMember[] }> {
    const { telemetry, jobs } = this.#deps
    const database = await this.#deps.database()
    const why = storable(who.reason ?? 'cancelled by a person', 2_000)
    await explained(id, async () => {
      const news = await audited(database, who, async (tx) => {
        const [was] = await store.lockBatch(tx, { id: checkBatchId(id) })
        if (typeof was?.state === 'string') refuseStale(`Batch ${id}`, was.state, who)
        const [cancelled] = await store.cancelBatch(tx, { id, reason: why })
        const result = cancelled?.news ?? []
        const states = { before: { state: was?.state ?? null }, after: { state: 'cancelled' } }
        const act = { action: 'batch.cancel', target: String(id), ...states }
        return { result, act: result.length === 0 ? undefined : act }
      })
      reportBatches(telemetry, news)
    })
    await endMembers({ database, telemetry, jobs }, { id, reason: why })
    return this.get(id)
  }

  #handle(id: number, tx: Connection | undefined): OpenBatch {
    return new OpenBatch({ id, tx, jobs: this.#deps.jobs, seal: (sealed, within) => this.#seal(sealed, within) })
  }

  async #record(connection: StoreConnection, { spec }: Declaration, options: BatchOptions): Promise<number> {
    const parentId = options.parent?.id ?? null
    const [opened] = await explained(parentId ?? undefined, () => store.openBatch(connection, { spec }))
    const batchId = Number(opened?.id)
    this.#deps.telemetry.emit('job-batch.opened', { batchId, parentId, description: options.description ?? null })
    return batchId
  }

  async #seal(id: number, tx: Connection | undefined): Promise<void> {
    const { control } = await this.#deps.database()
    const connection = tx === undefined ? control : onTransaction(tx, control.schema)
    const [sealed] = await explained(id, () => store.sealBatch(connection, { id }))
    reportBatches(this.#deps.telemetry, sealed?.news ?? [])
    this.#deps.wake()
  }

  async #runIn(
    connection: StoreConnection,
    { declaration, jobs, options }: { declaration: Declaration; jobs: readonly NewJob[]; options: BatchOptions },
  ): Promise<{ id: number; jobs: EnqueuedJob[] }> {
    const id = await this.#record(connection, declaration, options)
    const members = jobs.map((job) => ({ ...job, batch: { id } }))
    const enqueued: EnqueuedJob[] = []
    for (let at = 0; at < members.length; at += perStatement) {
      const rows = await enqueue(connection, { jobs: members.slice(at, at + perStatement), notify: false })
      enqueued.push(...rows.map((row) => ({ id: Number(row.id), duplicate: row.duplicate })))
    }
    const [sealed] = await explained(id, () => store.sealBatch(connection, { id }))
    reportBatches(this.#deps.telemetry, sealed?.news ?? [])
    return { id, jobs: enqueued }
  }
}

/** Makes the names of jobs and queues beside the transaction: in it, all others would wait for its end. */
async function learn(
  { control }: Database,
  within: StoreConnection | undefined,
  jobs: readonly NewJob[],
): Promise<void> {
  if (jobs.length === 0) return
  const [found] = within === undefined ? [] : await isolation(within)
  // An older snapshot would not see what is made now.
  if (found !== undefined && found.isolation !== 'read committed') return
  const classes = [...new Set(jobs.map(({ job }) => job))]
  const queues = [...new Set(jobs.map(({ queue = 'default' }) => queue))]
  await enqueueNames(control, { classes, queues })
}
