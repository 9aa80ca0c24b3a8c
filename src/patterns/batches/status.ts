import type { BatchView } from '../../store/job-batch-views.ts'
import type { CallbackKind } from '../../store/job-batches.ts'

/** Where a batch of jobs stands. `cancelling`: cancelled, and some members still run. */
export type BatchState = BatchView['state']

/** All of them, from open to over. */
export const batchStates = ['open', 'sealed', 'cancelling', 'succeeded', 'failed', 'cancelled'] as const

/** A callback of a batch of jobs. */
export interface BatchCallback {
  kind: CallbackKind
  /** The name of the job. */
  name: string
  /** The job, once it was enqueued. */
  jobId: number | null
  at: Date | null
}

/** A batch of jobs as a person or a page sees it. */
export interface BatchStatus {
  id: number
  /** The batch of jobs of which this one is a member. */
  parentId: number | null
  state: BatchState
  description: string | null
  /** Members so far. */
  total: number
  /** Members that have not ended. */
  waiting: number
  succeeded: number
  /** Members that ended in another way: dead, discarded, cancelled or quarantined. */
  failed: number
  callbacks: BatchCallback[]
  /** Why it was cancelled. */
  reason: string | null
  openedAt: Date
  sealedAt: Date | null
  finishedAt: Date | null
}

/** A member that ended without success. */
export interface FailedMember {
  id: number
  name: string
  state: string
}

const kinds: readonly CallbackKind[] = ['success', 'complete', 'death']

/** Turns a stored batch of jobs into a status. */
export function batchStatusOf(view: BatchView): BatchStatus {
  const { total, succeeded, failed } = view
  return {
    id: view.id,
    parentId: view.parent_id,
    state: view.state,
    description: view.description,
    total,
    waiting: Math.max(0, total - succeeded - failed),
    succeeded,
    failed,
    callbacks: callbacksOf(view),
    reason: view.cancel_reason,
    openedAt: view.opened_at,
    sealedAt: view.sealed_at,
    finishedAt: view.finished_at,
  }
}

function callbacksOf({ declared, callbacks }: BatchView): BatchCallback[] {
  return kinds.flatMap((kind) => {
    const name = declared[kind]
    if (name === undefined) return []
    const called = callbacks?.find((callback) => callback.kind === kind)
    return [{ kind, name, jobId: called?.job_id ?? null, at: called === undefined ? null : new Date(called.at) }]
  })
}
