import type { ErrorRecord } from '../std/error-record.ts'
import { formatDuration } from '../std/duration.ts'
import type { Json } from '../std/json.ts'
import type { OperationView } from '../store/operations.ts'
import type { OperationState } from './states.ts'

/** An operation as a person or a page sees it. */
export interface OperationStatus {
  id: string
  name: string
  args: Json
  tenant: string | null
  actor: string | null
  state: OperationState
  table: string
  /** Rows that the walk has passed, and those of them that were changed. */
  rowsSeen: number
  rowsChanged: number
  /** Rows of the table as PostgreSQL estimated them at the start; 0 when it had no estimate. */
  rowsEstimate: number
  /** From 0 to 1; 1 only when finished; undefined when there is no estimate to compare with. */
  progress: number | undefined
  batchesFinished: number
  /** Batches that are leased or wait to be. */
  batches: { batch: number; state: 'ready' | 'running'; workerId: string | null; leaseMs: number | null }[]
  /** What keeps it from going faster right now. */
  limitedBy: string
  error: ErrorRecord | null
  createdAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  /** The database's clock when this was read. */
  asOf: Date
}

/** Turns a stored operation into a status. */
export function statusOf(view: OperationView): OperationStatus {
  return {
    id: view.id,
    name: view.name,
    args: view.args,
    tenant: view.tenant,
    actor: view.actor,
    state: view.status,
    table: view.table_name,
    rowsSeen: view.rows_seen,
    rowsChanged: view.rows_changed,
    rowsEstimate: view.rows_estimate,
    progress: progressOf(view),
    batchesFinished: view.batches_finished,
    batches: view.running.map(({ batch, state, worker, leaseMs }) => ({ batch, state, workerId: worker, leaseMs })),
    limitedBy: limiterOf(view),
    error: view.error,
    createdAt: view.created_at,
    startedAt: view.started_at,
    finishedAt: view.finished_at,
    asOf: view.as_of,
  }
}

type Counts = Pick<OperationView, 'status' | 'rows_seen' | 'rows_estimate'>

/** Never 1 before the end: rows may have been added since the estimate. */
export function progressOf({ status, rows_seen, rows_estimate }: Counts): number | undefined {
  if (status === 'finished') return 1
  return rows_estimate <= 0 ? undefined : Math.min(0.99, rows_seen / rows_estimate)
}

type Limits = Pick<OperationView, 'status' | 'running' | 'workers' | 'lanes' | 'hold_reason' | 'hold_until' | 'as_of'>

/** The binding constraint, in words. */
export function limiterOf(view: Limits): string {
  if (view.status === 'finished' || view.status === 'failed') return 'nothing, it is over'
  if (view.status === 'held') {
    const left = (view.hold_until?.getTime() ?? 0) - view.as_of.getTime()
    return `held for ${formatDuration(Math.max(0, left))}: ${view.hold_reason ?? 'unknown reason'}`
  }
  const running = view.running.filter(({ state }) => state === 'running')
  const expired = running.find(({ leaseMs }) => (leaseMs ?? 0) < 0)
  if (expired !== undefined) return `batch ${expired.batch} waits to be taken over: its worker is gone`
  if (running.length > 0) return `${running.length} of ${view.lanes} ${view.lanes === 1 ? 'lane' : 'lanes'} at work`
  if (view.running.length > 0) return 'a batch waits for a free worker'
  return view.workers > 0 ? 'the next batch is about to be carved' : 'no running worker knows it'
}
