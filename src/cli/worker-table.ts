import type { WorkerView } from '../index.ts'
import { ago, count } from './figures.ts'
import { tableLines, type Column } from './layout.ts'
import type { Line, Part } from './output.ts'

const columns: readonly Column[] = [
  { title: 'id', least: 13, dispensable: 4 },
  { title: 'host', least: 8 },
  { title: 'pid', align: 'right' },
  { title: 'version', dispensable: 3 },
  { title: 'operations', least: 10, dispensable: 1 },
  { title: 'jobs', least: 10, dispensable: 2 },
  { title: 'sweeps', least: 8, dispensable: 1 },
  { title: 'queues', least: 8 },
  { title: 'running', align: 'right' },
  { title: 'seen', align: 'right' },
]

/** A sign of life comes every few seconds; after so long another worker has taken over. */
export const silentMs = 120_000

/** Workers in a table, one line each. */
export function workerTable(workers: readonly WorkerView[], width?: number): Line[] {
  return tableLines(columns, workers.map(rowOf), width)
}

function rowOf(worker: WorkerView): Part[] {
  const { id, host, pid, version, operations, jobs, sweeps, queues, seen_ms } = worker
  const own = jobs.filter((name) => !name.startsWith('sluice.'))
  return [
    id,
    ['bold', host],
    String(pid),
    version,
    operations.join(', ') || '–',
    own.join(', ') || '–',
    sweeps.join(', ') || '–',
    queues.join(', ') || 'all',
    runningText(worker),
    seen_ms > silentMs ? ['yellow', ago(seen_ms)] : ago(seen_ms),
  ]
}

function runningText({ running, batches, rows, concurrency }: WorkerView): string {
  const held = [batches === 0 ? [] : `${count(batches)} batches`, rows === 0 ? [] : `${count(rows)} rows`].flat()
  return [`${count(running)} of ${count(concurrency)}`, ...held].join(', ')
}

/** A worker for programs, in the names of the rest of the answer. */
export function workerRecord({ started_at, seen_ms, ...worker }: WorkerView): Record<string, unknown> {
  return { ...worker, startedAt: started_at, seenMs: seen_ms }
}
