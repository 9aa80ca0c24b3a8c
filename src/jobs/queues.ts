import { SluiceError } from '../errors.ts'
import { parseDuration, type Duration } from '../std/duration.ts'
import { storable } from '../std/storable.ts'
import { didYouMean } from '../std/suggest.ts'
import { audited, type Who } from '../store/audit.ts'
import type { StoreConnection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import { refuseStale, type Seen } from '../store/expected.ts'
import { limitQueue, lockQueue, pauseQueue, type QueueSwitches } from '../store/jobs/control.ts'
import { listQueues, type QueueView } from '../store/jobs/views.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { checkQueueName } from './define.ts'

const longestMs = 86_400_000

/** A queue as a person sees it: its switches, and what is in it. */
export interface QueueStatus {
  name: string
  paused: boolean
  pausedBy: string | null
  /** At most so many starts per so many milliseconds. */
  rate: { limit: number; perMs: number } | null
  waiting: number
  scheduled: number
  /** Behind others with the same concurrency key. */
  blocked: number
  running: number
  /** Of the ones that do not run: those whose name no running worker knows. */
  parked: number
  /** There are so many jobs that part of them was counted for all. */
  estimated: boolean
  /** How long the job that could run, and has waited longest, has been waiting. */
  oldestMs: number | null
}

/** Who does it, from where and why, and whether they have seen the queue open or paused. */
export type QueueVerbOptions = Seen<'open' | 'paused'>

/** The queues: what waits in them, and how to stop or slow them down. */
export class Queues {
  readonly #database: () => Promise<Database>
  readonly #telemetry: Telemetry

  constructor({ database, telemetry }: { database: () => Promise<Database>; telemetry: Telemetry }) {
    this.#database = database
    this.#telemetry = telemetry
  }

  /** All queues, by name, at a cost that does not grow with them: of many jobs, some are counted for all. */
  async list(): Promise<QueueStatus[]> {
    return (await listQueues((await this.#database()).control)).map(statusOf)
  }

  /** Lets no job of a queue start until {@link resume}; running ones go on. Takes effect within a second or so. */
  async pause(queue: string, who: QueueVerbOptions = {}): Promise<void> {
    const actor = who.actor === undefined ? null : storable(who.actor, 2_000)
    await this.#change(queue, { verb: 'pause', who, after: { paused: true } }, (tx) =>
      pauseQueue(tx, { name: queue, paused: true, actor }),
    )
    this.#telemetry.emit('queue.paused', { queue, actor })
  }

  /** Lets jobs of a paused queue start again. */
  async resume(queue: string, who: QueueVerbOptions = {}): Promise<void> {
    await this.#change(queue, { verb: 'resume', who, after: { paused: false } }, (tx) =>
      pauseQueue(tx, { name: queue, paused: false, actor: null }),
    )
    this.#telemetry.emit('queue.resumed', { queue, actor: who.actor ?? null })
  }

  /** Lets at most so many jobs of a queue start per time, over all workers; null: as many as there are. */
  async limit(queue: string, rate: { limit: number; per: Duration } | null, who: Who = {}): Promise<void> {
    const perMs = rate === null ? null : Math.round(parseDuration(rate.per) ?? 0)
    const fits = rate === null || (Number.isSafeInteger(rate.limit) && rate.limit > 0 && rate.limit <= 1_000_000)
    if (!fits || (perMs !== null && (perMs < 1 || perMs > longestMs))) {
      throw new SluiceError('QUEUE_INVALID', {
        message: `The rate of queue "${queue}" must be a whole number from 1 to 1,000,000 and a time such as "1m", up to a day.`,
        details: { queue, rate },
      })
    }
    const after = { limit: rate?.limit ?? null, perMs }
    await this.#change(queue, { verb: 'limit', who, after }, (tx) => limitQueue(tx, { name: queue, ...after }))
  }

  async #change(
    queue: string,
    { verb, who, after }: { verb: string; who: QueueVerbOptions; after: Partial<QueueSwitches> },
    change: (connection: StoreConnection) => Promise<unknown[]>,
  ): Promise<void> {
    checkQueueName(queue)
    const database = await this.#database()
    const changed = await audited(database, who, async (tx) => {
      const [was] = await lockQueue(tx, { name: queue })
      if (was !== undefined) refuseStale(`Queue ${queue}`, was.paused ? 'paused' : 'open', who)
      if (was === undefined || (await change(tx)).length === 0) return { result: false, act: undefined }
      const before = Object.fromEntries(Object.keys(after).map((key) => [key, was[key as keyof QueueSwitches]]))
      return { result: true, act: { action: `queue.${verb}`, target: queue, before, after } }
    })
    if (changed) return
    const names = (await listQueues(database.control)).map(({ name }) => name)
    throw new SluiceError('QUEUE_NOT_FOUND', {
      message: `There is no queue "${queue}".${didYouMean(queue, names)} A queue is there once a job was enqueued in it or a worker works on it.`,
      details: { queue, known: names },
    })
  }
}

function statusOf(view: QueueView): QueueStatus {
  const { name, paused, paused_by: pausedBy, rate_limit: limit, rate_ms: perMs } = view
  const { waiting, scheduled, blocked, running, parked, estimated, oldest_ms: oldestMs } = view
  const rate = limit === null || perMs === null ? null : { limit, perMs }
  return { name, paused, pausedBy, rate, waiting, scheduled, blocked, running, parked, estimated, oldestMs }
}
