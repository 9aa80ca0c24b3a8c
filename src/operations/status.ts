import type { ErrorRecord } from '../std/error-record.ts'
import { formatDuration } from '../std/duration.ts'
import type { Json } from '../std/json.ts'
import type { OperationView } from '../store/operations.ts'
import type { Standstill } from '../store/standstill.ts'
import { etaOf, isPastEstimate, remainingRows, type Eta, type Place } from './progress.ts'
import { viewOfWalk, type WalkView } from './walk.ts'
import { finalStates, type OperationState } from './states.ts'

/** An operation as a person or a page sees it. */
export interface OperationStatus {
  id: string
  name: string
  args: Json
  tenant: string | null
  actor: string | null
  state: OperationState
  /** Why it is in that state, where somebody or something said so. */
  reason: string | null
  /** Its definition may not run, or none may. */
  disabled: boolean
  /** No operation works: who said so, why, and since when; null: they do. */
  standstill: Standstill | null
  /** It could run, but no running worker knows it. */
  parked: boolean
  priority: 'low' | 'normal' | 'high'
  lanes: number
  /** The lanes follow the load, up to so many; null: they are as many as `lanes` says. */
  mostLanes: number | null
  pace: number
  /** Rows of a sub-batch, at most. */
  subBatchSize: number
  /** What the worker has found to be a good size at the end of the last batch; null: always `subBatchSize`. */
  tunedSize: number | null
  /** The hours in which it may run; null: at any time. */
  window: string | null
  walk: WalkView
  table: string
  /** Rows that the walk has passed, and those of them that were changed. */
  rowsSeen: number
  /** Of these, the ones in scope: each was changed, skipped by the work, or isolated. */
  rowsMatched: number
  rowsChanged: number
  rowsSkipped: number
  rowsQuarantined: number
  /** Rows of the table as PostgreSQL estimated them at the start; 0 when it had no estimate. */
  rowsEstimate: number
  /** From 0 to 1; 1 only when finished; undefined when there is no estimate to compare with. */
  progress: number | undefined
  /** More rows were met than estimated at the start. */
  pastEstimate: boolean
  /** How long the rest will take, likely; undefined when nobody can know, or when it waits for a person. */
  eta: Eta | undefined
  batchesFinished: number
  /** Batches that are leased or wait to be. */
  batches: { batch: number; state: 'ready' | 'running'; workerId: string | null; leaseMs: number | null }[]
  /** What keeps it from going faster right now. */
  limitedBy: string
  /** What could make it faster, where that shows; null: nothing does. */
  hint: string | null
  error: ErrorRecord | null
  createdAt: Date
  startedAt: Date | null
  finishedAt: Date | null
  /** The database's clock when this was read. */
  asOf: Date
}

/** Turns a stored operation into a status, a more precise one when its place in the table is known. */
export function statusOf(view: OperationView, place?: Place): OperationStatus {
  const remaining = remainingRows(view, place)
  const progress = progressOf(view, remaining)
  const comes = ['queued', 'active', 'held'].includes(view.status) && !view.disabled && view.workers > 0
  return {
    id: view.id,
    name: view.name,
    args: view.args,
    tenant: view.tenant,
    actor: view.actor,
    state: view.status,
    reason: view.reason,
    disabled: view.disabled,
    standstill: standstillOf(view),
    parked: isParked(view),
    priority: view.priority,
    lanes: view.lanes,
    mostLanes: view.most_lanes,
    pace: view.pace,
    subBatchSize: view.sub_batch_size,
    tunedSize: view.tuned_size,
    window: view.run_window,
    walk: viewOfWalk({ kind: view.walk, index: view.walk_index, columns: view.cursor_columns }),
    table: view.table_name,
    // Rows in strides are changed before their window is passed, and a window may get new rows while it is worked on.
    rowsSeen: Math.max(view.rows_seen, view.rows_matched),
    rowsMatched: view.rows_matched,
    rowsChanged: view.rows_changed,
    rowsSkipped: Math.max(0, view.rows_matched - view.rows_changed - view.rows_quarantined),
    rowsQuarantined: view.rows_quarantined,
    rowsEstimate: view.rows_estimate,
    progress,
    pastEstimate: isPastEstimate(view),
    eta: comes && view.pass === 1 ? etaOf(view, { remaining, progress }) : undefined,
    batchesFinished: view.batches_finished,
    batches: view.running.map(({ batch, state, worker, leaseMs }) => ({ batch, state, workerId: worker, leaseMs })),
    limitedBy: limiterOf(view),
    hint: hintOf(view),
    error: view.error,
    createdAt: view.created_at,
    startedAt: view.started_at,
    finishedAt: view.finished_at,
    asOf: view.as_of,
  }
}

type Counts = Pick<OperationView, 'status' | 'rows_seen' | 'rows_estimate'> & {
  pass?: number
  walk?: OperationView['walk']
}

/** Never 1 before the end: rows may have been added since the estimate, and a second pass may find some. */
export function progressOf(counts: Counts, remaining: number | undefined = remainingRows(counts)): number | undefined {
  const { status, rows_seen, pass = 1 } = counts
  if (status === 'finished' || status === 'finished_with_quarantine') return 1
  if (pass > 1) return 0.99
  if (remaining === undefined || rows_seen + remaining === 0) return undefined
  return Math.min(0.99, rows_seen / (rows_seen + remaining))
}

type Limits = Pick<
  OperationView,
  'status' | 'running' | 'workers' | 'lanes' | 'pace' | 'limited_by' | 'reason' | 'hold_until' | 'disabled' | 'as_of'
> &
  Partial<Pick<OperationView, 'standstill'>>

const waiting: Partial<Record<OperationView['status'], string>> = {
  awaiting_approval: 'waits for approval',
  pausing: 'is about to pause',
  cancelling: 'is about to be cancelled',
}

/** Ready to run, and nobody there who could. */
function isParked({ status, workers }: Pick<Limits, 'status' | 'workers'>): boolean {
  return ['queued', 'active', 'verifying'].includes(status) && workers === 0
}

/** So many sub-batches are enough to judge by, and so small a share of rows in scope is worth an index. */
const enoughSubBatches = 50
const fewRows = 0.01

/** Whether another walk would have less to read: most rows that this one passes are not its business. */
export function hintOf({
  walk,
  sub_batches,
  rows_seen,
  rows_matched,
}: Pick<OperationView, 'walk' | 'sub_batches' | 'rows_seen' | 'rows_matched'>): string | null {
  if (walk !== 'key' || sub_batches < enoughSubBatches || rows_matched >= rows_seen * fewRows) return null
  return `only ${rows_matched} of ${rows_seen} rows were in scope: an index on the column that the scope limits, or one on the cursor columns with the scope as its WHERE, would let the next run read those alone`
}

function standstillOf({ standstill }: Partial<Pick<OperationView, 'standstill'>>): Standstill | null {
  return standstill === null || standstill === undefined ? null : { ...standstill, since: new Date(standstill.since) }
}

function allDisabled({ actor, reason, since }: Standstill, asOf: Date): string {
  const by = actor === null ? '' : ` by ${actor}`
  const ago = formatDuration(Math.max(0, asOf.getTime() - since.getTime()))
  return `all operations are disabled${by} for ${ago} now${reason === null ? '' : `: ${reason}`}`
}

/** The binding constraint, in words. */
export function limiterOf(view: Limits): string {
  if ((finalStates as readonly string[]).includes(view.status)) return 'nothing, it is over'
  const all = standstillOf(view)
  if (all !== null) return allDisabled(all, view.as_of)
  if (view.disabled) return 'its definition is disabled'
  if (view.status === 'paused') return `paused${view.reason === null ? '' : `: ${view.reason}`}`
  const left = (view.hold_until?.getTime() ?? 0) - view.as_of.getTime()
  if (view.status === 'held' || (view.status === 'queued' && left > 0)) {
    return `held for ${formatDuration(Math.max(0, left))}: ${view.reason ?? 'unknown reason'}`
  }
  return waiting[view.status] ?? limiterAtWork(view)
}

function limiterAtWork(view: Limits): string {
  if (isParked(view)) return 'parked: no running worker knows it'
  const running = view.running.filter(({ state }) => state === 'running')
  const expired = running.find(({ leaseMs }) => (leaseMs ?? 0) < 0)
  if (expired !== undefined) return `batch ${expired.batch} waits to be taken over: its worker is gone`
  const pace = view.pace < 1 ? ` at a pace of ${Math.round(view.pace * 100)} %` : ''
  const limiter = view.limited_by === null ? '' : `; ${view.limited_by}`
  if (running.length > 0)
    return `${running.length} of ${view.lanes} ${view.lanes === 1 ? 'lane' : 'lanes'} at work${pace}${limiter}`
  if (view.running.length > 0) return 'a batch waits for a free worker'
  return view.status === 'queued' ? 'waits for its turn' : 'the next batch is about to be carved'
}
