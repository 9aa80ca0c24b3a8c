/** All of them, from open to over. */
export const batchStates = ['open', 'sealed', 'cancelling', 'succeeded', 'failed', 'cancelled'] as const

/** Where a batch of jobs stands. `cancelling`: cancelled, and some members still run. */
export type BatchState = (typeof batchStates)[number]

/** When a callback is enqueued: all have succeeded, all have ended in any way, the first has died. */
export const callbackKinds = ['success', 'complete', 'death'] as const
export type CallbackKind = (typeof callbackKinds)[number]

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
