import { randomBytes } from 'node:crypto'
import {
  isSuspect,
  type Claimed,
  type ClaimedJob,
  type ClaimOrder,
  type KnownJob,
  type QueueWorker,
} from '../../jobs/queue.ts'
import type { StoreConnection } from '../connection.ts'
import type { Database } from '../database.ts'
import {
  claim,
  claimsOf,
  openClasses,
  queueStates,
  returnTokens,
  takeTokens,
  unclaim,
  type ClaimsFloor,
  type QueueState,
} from './claim.ts'
import { notify } from './enqueue.ts'
import { groupOf, newJobs, nothingLeft } from './hints.ts'
import { createJobPartitions } from './rescue.ts'
import { BusyQueues, Floors, shuffle } from './where-to-look.ts'

/** What a look leaves to others: maybe more, nothing, or it cannot tell. */
type Left = 'more' | 'nothing' | 'unknown'

const refreshEveryMs = 1_000
/** Longer than a statement may take. */
const doubtMs = 120_000

type Order = Omit<ClaimOrder, 'hinted'>

/** What one round has taken so far. */
interface Taken {
  count: number
  suspected: boolean
}

/** Claims jobs for one worker: knows its queues and classes, and where to look next. */
export class Claimer {
  readonly #database: Database
  readonly #worker: QueueWorker
  readonly #names: readonly string[]
  readonly #floors = new Floors()
  readonly #busy = new BusyQueues()
  #floor: ClaimsFloor = { life: null, seq: '0' }
  #opened = false
  #queues: QueueState[] = []
  /** Workers on jobs, this one included. */
  #workers = 1
  #group: string | undefined
  #refreshedAt = -Infinity
  /** The connection that listens, where there is one. */
  #listening: StoreConnection | undefined
  /** Nonces of claims that the server has not answered yet. */
  readonly #asked = new Set<string>()
  readonly #doubtful = new Map<string, number>()
  #tookBackAt = -Infinity

  constructor(database: Database, worker: QueueWorker) {
    this.#database = database
    this.#worker = worker
    this.#names = worker.jobs.map(({ name }) => name)
  }

  /** The queues whose jobs this process claims; undefined: all. Our own is everybody's, or a bulk action could wait. */
  get #served(): string[] | undefined {
    return this.#worker.weights === undefined ? undefined : [...Object.keys(this.#worker.weights), 'sluice']
  }

  /** Whether this process claims from any of these queues; undefined: from any queue at all. */
  readonly serves = (queues: readonly string[] | undefined): boolean => {
    const served = this.#served
    return served === undefined || queues === undefined || queues.some((name) => served.includes(name))
  }

  /** Which workers find the same jobs. Definitions and queues stay the same for the life of a worker. */
  get group(): string {
    const { schema } = this.#database.control
    return (this.#group ??= groupOf({ schema, queues: this.#served, jobs: this.#names }))
  }

  /** Tells the workers that wait after the same hint what a look has left for them. */
  tellOthers(left: Left, hint: string): void {
    if (this.#listening === undefined || this.#workers < 2 || left === 'unknown') return
    // If it is lost, the others look: that costs a claim each, and no job.
    const text = left === 'nothing' ? nothingLeft(hint, this.group) : newJobs()
    notify(this.#listening, { hint: text }).catch(() => undefined)
  }

  /** Claims go out on the connection that listens: its session is awake, and no other statement is before them. */
  sendOn(connection: StoreConnection | undefined): void {
    this.#listening = connection
  }

  /** Tells the database what this process knows, once, and again when it has forgotten. */
  async open(): Promise<void> {
    if (this.#opened) return
    // After a week without any worker there is no day left that a job could end in.
    await createJobPartitions(this.#database.control)
    const classes = this.#worker.jobs.map((job) => ({ name: job.name, defaults: defaultsOf(job) }))
    let rows = await openClasses(this.#database.control, { classes })
    // One that another process made at the same moment is found by the next statement only.
    while (rows.length < classes.length) rows = await openClasses(this.#database.control, { classes })
    this.#opened = true
    await this.#refresh(performance.now())
  }

  /**
   * Claims up to `limit` jobs, and says what it left. Each claim is given at once: a later one of the same round may
   * fail, and what was claimed before it must not be forgotten.
   */
  async *take(order: ClaimOrder): AsyncGenerator<Claimed, Left> {
    const now = performance.now()
    if (now - this.#refreshedAt > refreshEveryMs) await this.#refresh(now)
    const all = shuffle(
      this.#queues
        .filter(({ paused }) => !paused)
        .map((queue) => ({ ...queue, weight: this.#worker.weights?.[queue.name] ?? 1 })),
      Math.random,
    )
    const open = await this.#busy.among(all, { control: this.#database.control, hinted: order.hinted })
    const taken: Taken = { count: 0, suspected: false }
    const unlimited = open.filter(({ limited }) => !limited)
    const swept = unlimited.length === 0 || (yield* this.#takeFrom(unlimited, order, taken))
    for (const queue of open.filter(({ limited }) => limited)) {
      const wanted = order.limit - taken.count
      const free = Math.max(0, order.free - taken.count)
      const rest = { limit: wanted, free, suspects: taken.suspected ? 0 : order.suspects }
      if (wanted > 0) yield* this.#takeLimited(queue, rest, taken)
    }
    const { count } = taken
    if (count >= order.limit) return 'more'
    // A look that found nothing above the floor, or that left out queues, does not know.
    const knows = open.length === all.length && (swept || count > 0)
    return knows ? 'nothing' : 'unknown'
  }

  /**
   * Gives back the claims in this worker's name that nobody here knows of, and the number of their jobs. While such a
   * worker lives, no rescue would ever free them.
   */
  async giveBackStrays(known: { has(claimId: string): boolean }): Promise<number> {
    const { control } = this.#database
    const found = await claimsOf(control, { workerId: this.#worker.workerId })
    // Asked after the answer: a nonce is known here before its claim is sent, and until its end is written.
    const claimIds = found
      .map(({ id }) => id)
      .filter((id) => !this.#asked.has(id) && !this.#doubtful.has(id) && !known.has(id))
    return claimIds.length === 0 ? 0 : (await unclaim(control, { claimIds })).length
  }

  /** Says whether it looked from the first job on. */
  async *#takeFrom(queues: readonly QueueState[], order: ClaimOrder, taken: Taken): AsyncGenerator<Claimed, boolean> {
    const sweep = this.#floors.sweepDue(performance.now(), { hinted: false })
    const claimed = await this.#claim(queues, order, sweep)
    yield* counted(claimed, taken)
    if (sweep || claimed.jobs.length > 0 || !order.hinted) return sweep
    // A transaction that took its time has committed jobs below the floor.
    if (!this.#floors.sweepDue(performance.now(), { hinted: true })) return false
    yield* counted(await this.#claim(queues, order, true), taken)
    return true
  }

  async *#takeLimited(queue: QueueState, order: Order, taken: Taken): AsyncGenerator<Claimed, void> {
    const { control } = this.#database
    const [tokens] = await takeTokens(control, { queueId: queue.id, wanted: order.limit })
    let left = tokens?.granted ?? 0
    if (left === 0) return
    // One kind after the other: together they could be more than the tokens are for.
    for (const share of [
      { limit: 0, free: 0, suspects: order.suspects },
      { limit: 0, free: order.free, suspects: 0 },
      { limit: left, free: 0, suspects: 0 },
    ]) {
      const [limit, free] = [Math.min(share.limit, left), Math.min(share.free, left)]
      if (left === 0 || limit + free + share.suspects === 0) continue
      const claimed = await this.#claim([queue], { ...share, limit, free }, true)
      left -= claimed.jobs.length
      yield* counted(claimed, taken)
    }
    if (left > 0) await returnTokens(control, { queueId: queue.id, count: left })
  }

  async #claim(queues: readonly QueueState[], { limit, free, suspects }: Order, sweep: boolean): Promise<Claimed> {
    if (this.#doubtful.size > 0) await this.#takeBack()
    const claimId = nonce()
    const queueIds = queues.map(({ id }) => id)
    const lanes = this.#floors.lanes(queueIds, { sweep })
    const began = performance.now()
    const { workerId } = this.#worker
    const wanted = { limit, free, suspects, claimId, workerId }
    const order = { ...wanted, names: this.#names, queueIds, lanes, floor: this.#floor }
    this.#asked.add(claimId)
    const { jobs, floor, missing, serverMs } = await claim(this.#listening ?? this.#database.control, order)
      .catch((error: unknown) => {
        this.#doubtful.set(claimId, performance.now())
        throw error
      })
      .finally(() => this.#asked.delete(claimId))
    // After a crash of the server, jobs that were claimed may be new again, below what was seen.
    if (this.#floor.life !== null && floor.life !== this.#floor.life) this.#floors.forget()
    this.#floor = floor
    if (sweep) this.#floors.swept(performance.now(), performance.now() - began)
    this.#floors.seen(jobs)
    if (missing) this.#opened = false
    const asWanted = new Map(queues.map(({ id, name }) => [id, name]))
    const misplaced = new Set<ClaimedJob>(jobs.filter(({ queueId, queue }) => asWanted.get(queueId) !== queue))
    if (misplaced.size > 0) this.#refreshedAt = -Infinity
    const clockMs = serverMs - performance.now()
    return { claimId, jobs: jobs.toSorted((a, b) => a.priority - b.priority || a.id - b.id), clockMs, misplaced }
  }

  /**
   * Gives back what was claimed when an answer was lost. The server may be at it still, so a nonce is asked about again
   * and again until nothing can come of it any more.
   */
  async #takeBack(): Promise<void> {
    const now = performance.now()
    if (now - this.#tookBackAt < refreshEveryMs) return
    this.#tookBackAt = now
    await unclaim(this.#database.control, { claimIds: [...this.#doubtful.keys()] })
    for (const [claimId, since] of this.#doubtful) if (now - since > doubtMs) this.#doubtful.delete(claimId)
  }

  async #refresh(now: number): Promise<void> {
    const names = this.#worker.jobs.map(({ queue }) => queue)
    const wanted = this.#served ?? null
    const known = [...new Set(wanted ?? names)]
    do this.#queues = await queueStates(this.#database.control, { known, wanted })
    while (known.some((name) => this.#queues.every((queue) => queue.name !== name)))
    this.#workers = this.#queues[0]?.workers ?? 1
    this.#refreshedAt = now
  }
}

/** Gives a claim with jobs, and counts them. */
function* counted(claimed: Claimed, taken: Taken): Generator<Claimed, void> {
  if (claimed.jobs.length === 0) return
  taken.count += claimed.jobs.length
  taken.suspected ||= claimed.jobs.some(isSuspect)
  yield claimed
}

/** What those who enqueue by SQL should get without asking. */
function defaultsOf({ queue, priority, unique, limit }: KnownJob): object {
  const needs = [...(unique?.keyed === true ? ['unique'] : []), ...(limit === undefined ? [] : ['key'])]
  return {
    queue,
    priority,
    ...(unique === undefined || unique.keyed ? {} : { unique: { until: unique.until, forMs: unique.forMs } }),
    ...(needs.length === 0 ? {} : { needs }),
  }
}

/** 63 random bits: fits a bigint, and is never guessed or met again. */
function nonce(): string {
  return (randomBytes(8).readBigUInt64BE() >> 1n).toString()
}
