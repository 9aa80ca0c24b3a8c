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
import type { EnqueuedJob } from '../../jobs/definition.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import type { NewJob } from '../../jobs/queue.ts'
import { storable } from '../../std/storable.ts'
import type { Connection } from '../../store/connection.ts'
import type { Seen } from '../../store/expected.ts'
import type { BatchStore, OpenOrder } from './batch-store.ts'
import { declare, type BatchOptions } from './declaration.ts'
import { OpenBatch } from './open-batch.ts'
import { prepare, type PlannedJob } from './planned.ts'
import { checkBatchId, explained, notFound } from './refusal.ts'
import { batchStates, type BatchState, type BatchStatus, type FailedMember } from './status.ts'

interface Deps {
  store: BatchStore
  jobs: Jobs
}

/** Batches of jobs, and the id to continue the list from. */
export interface BatchPage {
  batches: BatchStatus[]
  /** Give it as `before` for the next page; null: there is no more. */
  next: number | null
}

/** Failed members that come with a batch. */
const shownFailures = 100

/** Batches of jobs: so many jobs, and one callback when all of them have ended. */
export class Batches {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Opens a batch of jobs, to be given members and to be sealed. */
  async open(options: BatchOptions = {}): Promise<OpenBatch> {
    const order = await orderOf(options)
    const id = await explained(order.parentId ?? undefined, () => this.#deps.store.open(order))
    return this.#handle(id, options.tx)
  }

  /** A batch of jobs that was opened elsewhere, by its id. Whether it is there is seen when it is used. */
  at(id: number, { tx }: { tx?: Connection } = {}): OpenBatch {
    return this.#handle(checkBatchId(id), tx)
  }

  /** Opens a batch of jobs, adds its members and seals it, in one transaction. */
  async run(members: readonly PlannedJob[], options: BatchOptions = {}): Promise<{ id: number; jobs: EnqueuedJob[] }> {
    const order = await orderOf(options)
    const jobs: NewJob[] = []
    for (const member of members) jobs.push(await prepare(member))
    return explained(order.parentId ?? undefined, () => this.#deps.store.run({ ...order, members: jobs }))
  }

  /** One batch of jobs with its progress, its callbacks and the first hundred of the members that failed. */
  async get(id: number): Promise<BatchStatus & { failures: FailedMember[] }> {
    const { store } = this.#deps
    // The latest up to this one.
    const [batch] = await store.list({ states: batchStates, before: checkBatchId(id) + 1, limit: 1 })
    if (batch === undefined || batch.id !== id) throw notFound(id)
    return { ...batch, failures: await store.failures({ id, limit: shownFailures }) }
  }

  /** Batches of jobs, latest first, a page at a time. Without states: all. */
  async list({
    states = batchStates,
    before = null,
    limit = 50,
  }: { states?: readonly BatchState[]; before?: number | null; limit?: number } = {}): Promise<BatchPage> {
    const size = Math.min(Math.max(1, limit), 1_000)
    const found = await this.#deps.store.list({ states, before, limit: size + 1 })
    const batches = found.slice(0, size)
    return { batches, next: found.length > size ? (batches.at(-1)?.id ?? null) : null }
  }

  /**
   * Ends what is left of a batch of jobs, and of those inside of it: members that wait at once, running ones by their
   * signal. Then it is over: `onComplete` is called, `onSuccess` is not.
   */
  async cancel(id: number, who: Seen<BatchState> = {}): Promise<BatchStatus & { failures: FailedMember[] }> {
    const reason = storable(who.reason ?? 'cancelled by a person', 2_000)
    await explained(id, () => this.#deps.store.cancel({ id: checkBatchId(id), reason, who }))
    return this.get(id)
  }

  #handle(id: number, tx: Connection | undefined): OpenBatch {
    const { store, jobs } = this.#deps
    const seal = (sealed: number, within: Connection | undefined): Promise<void> =>
      explained(sealed, () => store.seal(sealed, within))
    return new OpenBatch({ id, tx, jobs, seal })
  }
}

/** Checks everything about a new batch of jobs. */
async function orderOf(options: BatchOptions): Promise<OpenOrder> {
  const { spec, callbacks } = await declare(options)
  const { parent, description = null, tx } = options
  return { spec, callbacks, parentId: parent?.id ?? null, description, tx }
}
