import type { Counts, OperationCounts } from '../../store/samples.ts'
import type { EventName, Events } from '../../telemetry/events.ts'
import type { AnyEvent } from '../../telemetry/telemetry.ts'
import { count } from './histogram.ts'

type QueueCounts = Counts['queues'][number]

/** What has been counted since it was last taken. */
export class Tally {
  readonly #queues = new Map<string, QueueCounts>()
  readonly #operations = new Map<string, OperationCounts>()

  get empty(): boolean {
    return this.#queues.size === 0 && this.#operations.size === 0
  }

  /** Gives the counts, and begins anew. */
  take(): Omit<Counts, 'signals'> {
    const taken = { queues: [...this.#queues.values()], operations: [...this.#operations.values()] }
    this.#queues.clear()
    this.#operations.clear()
    return taken
  }

  /** Counts an event, if it is one that counts. */
  note({ event, payload }: AnyEvent): void {
    const counter = counters[event] as ((tally: Tally, payload: unknown) => void) | undefined
    counter?.(this, payload)
  }

  /** The counts of a queue. */
  queue(queue: string): QueueCounts {
    const none = { queue, enqueued: 0, started: 0, finished: 0, failed: 0, died: 0, wait: [], run: [] }
    const counts = this.#queues.get(queue) ?? none
    this.#queues.set(queue, counts)
    return counts
  }

  /** The counts of an operation. */
  operation({ operationId, name }: { operationId: string; name: string }): OperationCounts {
    const counts = this.#operations.get(operationId) ?? noRows(operationId, name)
    this.#operations.set(operationId, counts)
    return counts
  }
}

function noRows(operation_id: string, name: string): OperationCounts {
  const rows = { rows_seen: 0, rows_changed: 0, quarantined: 0, wal_bytes: 0 }
  return { operation_id, name, ...rows, batches: 0, sub_batches: 0, run: [], size: null, target_ms: null }
}

type Counters = { readonly [N in EventName]?: (tally: Tally, payload: Events[N]) => void }

const died = (tally: Tally, { queue }: { queue: string }): void => {
  tally.queue(queue).failed += 1
  tally.queue(queue).died += 1
}

/** What each event counts. */
const counters: Counters = {
  'jobs.enqueued': (tally, { queue, count: jobs }) => {
    if (jobs > 0) tally.queue(queue).enqueued += jobs
  },
  'job.started': (tally, { queue, waitMs }) => {
    tally.queue(queue).started += 1
    count(tally.queue(queue).wait, waitMs)
  },
  'job.finished': (tally, { queue, runMs }) => {
    tally.queue(queue).finished += 1
    count(tally.queue(queue).run, runMs)
  },
  'job.retried': (tally, { queue }) => {
    tally.queue(queue).failed += 1
  },
  'job.died': died,
  'job.quarantined': died,
  'sub-batch.committed': (tally, payload) => {
    const operation = tally.operation(payload)
    operation.rows_seen += payload.rowsSeen
    operation.rows_changed += payload.rowsChanged
    operation.sub_batches += 1
    operation.wal_bytes += Math.max(0, Math.round(payload.walBytes))
    operation.size = payload.rowsSeen
    operation.target_ms = payload.targetMs ?? operation.target_ms
    count(operation.run, payload.elapsedMs)
  },
  'batch.finished': (tally, payload) => {
    tally.operation(payload).batches += 1
  },
  'batch.quarantined': (tally, payload) => {
    tally.operation(payload).quarantined += payload.rows
  },
}
