import { SluiceError } from '../errors.ts'
import { parseDuration, type Duration } from '../std/duration.ts'
import { storable } from '../std/storable.ts'
import { didYouMean } from '../std/suggest.ts'
import type { Who } from '../store/audit.ts'
import type { Seen } from '../store/expected.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { checkQueueName } from './enqueue.ts'
import type { JobQueue, QueueAct } from './queue.ts'
import type { QueueStatus } from './status.ts'

const longestMs = 86_400_000

/** Who does it, from where and why, and whether they have seen the queue open or paused. */
export type QueueVerbOptions = Seen<'open' | 'paused'>

/** The queues: what waits in them, and how to stop or slow them down. */
export class Queues {
  readonly #queue: JobQueue
  readonly #telemetry: Telemetry

  constructor({ queue, telemetry }: { queue: JobQueue; telemetry: Telemetry }) {
    this.#queue = queue
    this.#telemetry = telemetry
  }

  /** All queues, by name, at a cost that does not grow with them: of many jobs, some are counted for all. */
  async list(): Promise<QueueStatus[]> {
    return this.#queue.read('queues', undefined)
  }

  /** Lets no job of a queue start until {@link resume}; running ones go on. Takes effect within a second or so. */
  async pause(queue: string, who: QueueVerbOptions = {}): Promise<void> {
    const actor = who.actor === undefined ? null : storable(who.actor, 2_000)
    await this.#change({ queue, verb: 'pause', who, actor, after: { paused: true } })
    this.#telemetry.emit('queue.paused', { queue, actor })
  }

  /** Lets jobs of a paused queue start again. */
  async resume(queue: string, who: QueueVerbOptions = {}): Promise<void> {
    await this.#change({ queue, verb: 'resume', who, actor: null, after: { paused: false } })
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
    await this.#change({ queue, verb: 'limit', who, actor: null, after })
  }

  async #change(act: QueueAct): Promise<void> {
    const queue = checkQueueName(act.queue)
    if (await this.#queue.act('queue', act)) return
    const names = (await this.list()).map(({ name }) => name)
    // A worker has begun on it between the two looks.
    if (names.includes(queue) && (await this.#queue.act('queue', act))) return
    throw new SluiceError('QUEUE_NOT_FOUND', {
      message: `There is no queue "${queue}".${didYouMean(queue, names)} A queue is there once a job was enqueued in it or a worker works on it.`,
      details: { queue, known: names },
    })
  }
}
