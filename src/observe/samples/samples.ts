/**
 * Samples: what was going on, in small, for charts and alerts.
 *
 * The model. Every process counts its own events (enqueued, started, finished, failed, durations, rows) and writes the
 * counts every ten seconds, in one statement whatever the number of jobs. The counts of all processes add up in one row
 * per queue or operation and ten seconds. What is not an event, such as how long a queue is, is looked at by one process
 * per span: who moves the clock on. The same one sums up minutes and hours once nobody can be writing to them any more.
 *
 * The invariants. The database's clock says to which span counts belong, at the moment of writing: a process that comes
 * late counts for the present, and what is over stays as it is. The same counts are never added twice: each write of a
 * worker has a number, and a mark remembers the last one; not in the worker's row, whose sign of life must not wait.
 * Looking costs the same for long queues as for short ones: two hundred pages stand for the table, and queues that hardly
 * show there are counted by themselves.
 *
 * On a crash the last ten seconds of one process are missing from the counts, and nothing else. A process that cannot
 * reach the database goes on counting, and writes when it can. Jobs that are enqueued by SQL alone are no events: they
 * show in the depth of their queue and not in what was enqueued.
 *
 * Decision: the depth of a long queue is estimated from a sample of pages with a fixed seed. The pages are always the
 * same, so sampling noise does not look like a slope.
 */
import { SluiceError } from '../../errors.ts'
import { parseDuration, type Duration } from '../../std/duration.ts'
import type { Database } from '../../store/database.ts'
import {
  operationSamples,
  queueDepths,
  queueSamples,
  signalSamples,
  type OperationSampleRow,
  type QueueDepth,
  type QueueSampleRow,
  type SampleFilter,
  type SignalSample,
  type Span,
} from '../../store/samples.ts'
import { quantile } from './histogram.ts'

/** Which samples to read. */
export interface SampleQuery {
  /** How far to look back. Default: half an hour. */
  within?: Duration
  /** Up to when. Default: now. */
  until?: Date
  /** How much time one sample stands for. Default: what suits `within`. */
  span?: Span
}

/** Half of the durations are at most `p50Ms`, 95 of 100 at most `p95Ms`; null without any. */
export interface Percentiles {
  p50Ms: number | null
  p95Ms: number | null
}

/** What happened in a queue in the span that begins at `at`. */
export interface QueueSample extends Omit<QueueSampleRow, 'wait' | 'run'> {
  /** From due to started. */
  wait: Percentiles
  run: Percentiles
}

/** What an operation did in the span that begins at `at`. */
export interface OperationSample extends Omit<OperationSampleRow, 'run' | 'targetMs'> {
  /** How long a sub-batch took, and how long its rows were to take. */
  subBatch: Percentiles & { targetMs: number | null }
}

const [minute, hour] = [60_000, 3_600_000]
const mostRows = 50_000

/** The finest span that is still there and gives no more than some hundred points. */
function spanFor(withinMs: number): Span {
  if (withinMs <= hour) return '10s'
  return withinMs <= 24 * hour ? '1m' : '1h'
}

/** Samples of queues, operations and health signals, oldest first. */
export class Samples {
  readonly #database: () => Promise<Database>

  constructor(database: () => Promise<Database>) {
    this.#database = database
  }

  /**
   * What happened in the queues, or in one.
   *
   * @example
   * ```ts
   * for (const { at, depth, wait } of await sluice.samples.queues({ queue: 'billing', within: '1h' })) {
   *   console.log(at, depth, wait.p95Ms)
   * }
   * ```
   */
  async queues({ queue, ...query }: SampleQuery & { queue?: string } = {}): Promise<QueueSample[]> {
    const [span, filter] = filterOf(query, queue)
    return (await queueSamples[span]((await this.#database()).control, filter)).map(queueSampleOf)
  }

  /** What operations did, or one of them. */
  async operations({ id, ...query }: SampleQuery & { id?: string } = {}): Promise<OperationSample[]> {
    const [span, filter] = filterOf(query, id)
    return (await operationSamples[span]((await this.#database()).control, filter)).map(operationSampleOf)
  }

  /** Health signals with their limits. */
  async signals({ signal, ...query }: SampleQuery & { signal?: string } = {}): Promise<SignalSample[]> {
    const [span, filter] = filterOf(query, signal)
    return signalSamples[span]((await this.#database()).control, filter)
  }

  /** How long the queues are now, at a cost that does not grow with them. */
  async depths(): Promise<QueueDepth[]> {
    return queueDepths((await this.#database()).control)
  }
}

function filterOf({ within = '30m', until, span }: SampleQuery, name: string | undefined): [Span, SampleFilter] {
  const withinMs = parseDuration(within)
  if (withinMs === undefined || withinMs < minute || (until !== undefined && Number.isNaN(until.getTime()))) {
    throw new SluiceError('ARGS_INVALID', {
      message: `These samples cannot be read: "within" must be a time such as "30m" or "1d", at least a minute, and "until" a date.`,
      details: { within, until },
    })
  }
  return [span ?? spanFor(withinMs), { name: name ?? null, withinMs, until: until ?? null, limit: mostRows }]
}

const percentilesOf = (histogram: readonly number[]): Percentiles => ({
  p50Ms: quantile(histogram, 0.5) ?? null,
  p95Ms: quantile(histogram, 0.95) ?? null,
})

const queueSampleOf = ({ wait, run, ...row }: QueueSampleRow): QueueSample => ({
  ...row,
  wait: percentilesOf(wait),
  run: percentilesOf(run),
})

const operationSampleOf = ({ run, targetMs, ...row }: OperationSampleRow): OperationSample => ({
  ...row,
  subBatch: { ...percentilesOf(run), targetMs },
})
