import { randomBytes } from 'node:crypto'
import type { StoreConnection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import {
  claim,
  openClasses,
  queueStates,
  returnTokens,
  takeTokens,
  unclaim,
  type ClaimedJob,
  type ClaimsFloor,
  type QueueState,
} from '../store/jobs/claim.ts'
import { createJobPartitions } from '../store/jobs/rescue.ts'
import type { JobDefinition, JobRegistry } from './define.ts'
import { Floors } from './floors.ts'
import { shuffle } from './prefetch.ts'

/** Jobs that were claimed in one go, under one nonce. */
export interface Claimed {
  claimId: string
  jobs: ClaimedJob[]
}

/** The queues that a process works on, and how much each counts; undefined: all, alike. */
export type Weights = Readonly<Record<string, number>> | undefined

const refreshEveryMs = 1_000
/** Longer than a statement may take. */
const doubtMs = 120_000
const nothing: Claimed = { claimId: '', jobs: [] }

/** How many jobs, how many of them where a worker has died, and where more than one has. */
interface Order {
  workerId: string
  limit: number
  free: number
  suspects: number
}

/** Whether a job is to run without others of its kind: more than one worker has died with it at hand. */
export function isSuspect({ crashes }: ClaimedJob): boolean {
  return crashes > 1
}

/** Claims jobs for one process: knows its queues and classes, and where to look next. */
export class Claims {
  readonly #database: Database
  readonly #registry: JobRegistry
  readonly #weights: Weights
  readonly #floors = new Floors()
  #floor: ClaimsFloor = { life: null, seq: '0' }
  #classes = new Map<number, JobDefinition>()
  #queues: QueueState[] = []
  #refreshedAt = -Infinity
  /** The connection that hears of new jobs, where there is one. */
  #ear: StoreConnection | undefined
  readonly #doubtful = new Map<string, number>()
  #tookBackAt = -Infinity

  constructor({ database, registry, weights }: { database: Database; registry: JobRegistry; weights: Weights }) {
    this.#database = database
    this.#registry = registry
    this.#weights = weights
  }

  /** Claims go out where hints come in: that session is awake, and nobody else's turn has to be waited for. */
  speakOn(connection: StoreConnection | undefined): void {
    this.#ear = connection
  }

  definitionOf(job: ClaimedJob): JobDefinition {
    const definition = this.#classes.get(job.classId)
    if (definition === undefined) throw new Error(`class ${job.classId} was claimed, but is not known`)
    return definition
  }

  queueName(job: ClaimedJob): string {
    return this.#queues.find(({ id }) => id === job.queueId)?.name ?? String(job.queueId)
  }

  /** Tells the database what this process knows, and learns the ids. */
  async open(): Promise<void> {
    // After a week without any worker there is no day left that a job could end in.
    await createJobPartitions(this.#database.control)
    const classes = this.#registry.definitions.map((definition) => ({
      name: definition.name,
      defaults: defaultsOf(definition),
    }))
    let rows = await openClasses(this.#database.control, { classes })
    // One that another process made at the same moment is found by the next statement only.
    while (rows.length < classes.length) rows = await openClasses(this.#database.control, { classes })
    this.#classes = new Map(rows.map(({ id, name }) => [id, this.#registry.find(name)]))
    await this.#refresh(performance.now())
  }

  /** Up to `limit` jobs, each batch of them under one nonce. `hinted`: somebody said that there is something. */
  async take(order: Order & { hinted: boolean }): Promise<Claimed[]> {
    const now = performance.now()
    if (now - this.#refreshedAt > refreshEveryMs) await this.#refresh(now)
    const open = shuffle(
      this.#queues
        .filter(({ paused }) => !paused)
        .map((queue) => ({ ...queue, weight: this.#weights?.[queue.name] ?? 1 })),
      Math.random,
    )
    const taken = [
      await this.#takeFrom(
        open.filter(({ limited }) => !limited),
        order,
      ),
    ]
    for (const queue of open.filter(({ limited }) => limited)) {
      const count = taken.reduce((sum, { jobs }) => sum + jobs.length, 0)
      const wanted = order.limit - count
      const suspected = taken.some(({ jobs }) => jobs.some(isSuspect))
      const free = Math.max(0, order.free - count)
      const rest = { ...order, limit: wanted, free, suspects: suspected ? 0 : order.suspects }
      if (wanted > 0) taken.push(...(await this.#takeLimited(queue, rest)))
    }
    return taken.filter(({ jobs }) => jobs.length > 0)
  }

  async #takeFrom(queues: readonly QueueState[], order: Order & { hinted: boolean }): Promise<Claimed> {
    if (queues.length === 0) return nothing
    const claimed = await this.#claim(queues, order, this.#floors.sweepDue(performance.now(), { hinted: false }))
    if (claimed.jobs.length > 0 || !order.hinted) return claimed
    // Something was committed that is not behind the floor: a transaction that took its time.
    return this.#floors.sweepDue(performance.now(), { hinted: true }) ? this.#claim(queues, order, true) : claimed
  }

  async #takeLimited(queue: QueueState, order: Order): Promise<Claimed[]> {
    const { control } = this.#database
    const [tokens] = await takeTokens(control, { queueId: queue.id, wanted: order.limit })
    let left = tokens?.granted ?? 0
    if (left === 0) return []
    const taken: Claimed[] = []
    // One kind after the other: together they could be more than the tokens are for.
    for (const share of [
      { limit: 0, free: 0, suspects: order.suspects },
      { limit: 0, free: order.free, suspects: 0 },
      { limit: left, free: 0, suspects: 0 },
    ]) {
      const [limit, free] = [Math.min(share.limit, left), Math.min(share.free, left)]
      if (left === 0 || limit + free + share.suspects === 0) continue
      const claimed = await this.#claim([queue], { ...order, ...share, limit, free }, true)
      left -= claimed.jobs.length
      taken.push(claimed)
    }
    if (left > 0) await returnTokens(control, { queueId: queue.id, count: left })
    return taken
  }

  async #claim(queues: readonly QueueState[], asked: Order, sweep: boolean): Promise<Claimed> {
    if (this.#doubtful.size > 0) await this.#takeBack()
    const claimId = nonce()
    const queueIds = queues.map(({ id }) => id)
    const lanes = this.#floors.lanes(queueIds, { sweep })
    const classIds = [...this.#classes.keys()]
    const began = performance.now()
    const order = { ...asked, claimId, classIds, queueIds, lanes, floor: this.#floor }
    const { jobs, floor } = await claim(this.#ear ?? this.#database.control, order).catch((error: unknown) => {
      this.#doubtful.set(claimId, performance.now())
      throw error
    })
    // After a crash of the server, jobs that were claimed may be new again, below what was seen.
    if (this.#floor.life !== null && floor.life !== this.#floor.life) this.#floors.forget()
    this.#floor = floor
    if (sweep) this.#floors.swept(performance.now(), performance.now() - began)
    this.#floors.seen(jobs)
    return { claimId, jobs: jobs.toSorted((a, b) => a.priority - b.priority || a.id - b.id) }
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
    const names = this.#registry.definitions.map(({ queue }) => queue)
    // Our own queue is everybody's: else a bulk action may wait for a worker that nobody has.
    const wanted = this.#weights === undefined ? null : [...Object.keys(this.#weights), 'sluice']
    const known = [...new Set(wanted ?? names)]
    do this.#queues = await queueStates(this.#database.control, { known, wanted })
    while (known.some((name) => this.#queues.every((queue) => queue.name !== name)))
    this.#refreshedAt = now
  }
}

/** What those who enqueue by SQL should get without asking. */
function defaultsOf({ queue, priority, unique, limit }: JobDefinition): object {
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
