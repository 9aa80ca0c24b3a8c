import type { Counts } from '../store/samples.ts'
import type { AnyEvent } from '../telemetry/telemetry.ts'
import { count } from './histogram.ts'

type QueueCounts = Counts['queues'][number]
type OperationCounts = Counts['operations'][number]

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

  note({ event, payload: p }: AnyEvent): void {
    switch (event) {
      case 'jobs.enqueued':
        if (p.count > 0) this.#queue(p.queue).enqueued += p.count
        return
      case 'job.started':
        this.#queue(p.queue).started += 1
        count(this.#queue(p.queue).wait, p.waitMs)
        return
      case 'job.finished':
        this.#queue(p.queue).finished += 1
        count(this.#queue(p.queue).run, p.runMs)
        return
      case 'job.retried':
        this.#queue(p.queue).failed += 1
        return
      case 'job.died':
      case 'job.quarantined':
        this.#queue(p.queue).failed += 1
        this.#queue(p.queue).died += 1
        return
      case 'sub-batch.committed': {
        const operation = this.#operation(p)
        operation.rows_seen += p.rowsSeen
        operation.rows_changed += p.rowsChanged
        operation.sub_batches += 1
        operation.wal_bytes += Math.max(0, Math.round(p.walBytes))
        operation.size = p.rowsSeen
        operation.target_ms = p.targetMs ?? operation.target_ms
        count(operation.run, p.elapsedMs)
        return
      }
      case 'batch.finished':
        this.#operation(p).batches += 1
        return
      case 'batch.quarantined':
        this.#operation(p).quarantined += p.rows
        return
      default:
    }
  }

  #queue(queue: string): QueueCounts {
    const none = { queue, enqueued: 0, started: 0, finished: 0, failed: 0, died: 0, wait: [], run: [] }
    const counts = this.#queues.get(queue) ?? none
    this.#queues.set(queue, counts)
    return counts
  }

  #operation({ operationId, name }: { operationId: string; name: string }): OperationCounts {
    const counts = this.#operations.get(operationId) ?? noRows(operationId, name)
    this.#operations.set(operationId, counts)
    return counts
  }
}

function noRows(operation_id: string, name: string): OperationCounts {
  const rows = { rows_seen: 0, rows_changed: 0, quarantined: 0, wal_bytes: 0 }
  return { operation_id, name, ...rows, batches: 0, sub_batches: 0, run: [], size: null, target_ms: null }
}
