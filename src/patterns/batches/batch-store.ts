/** The port to batches of jobs. They are kept where their members are; not every store of jobs has them. */
import type { CallersTransaction, EnqueuedRow, NewJob } from '../../jobs/queue.ts'
import type { Seen } from '../../store/expected.ts'
import type { BatchState, BatchStatus, FailedMember } from './status.ts'

export interface BatchStore {
  /** Opens a batch of jobs, to be given members and to be sealed; gives its id. */
  open(order: OpenOrder): Promise<number>
  /** Opens a batch of jobs, records its members and seals it, in one transaction. */
  run(order: OpenOrder & { members: readonly NewJob[] }): Promise<{ id: number; jobs: EnqueuedRow[] }>
  /** Says that no member comes from outside any more. */
  seal(id: number, tx?: CallersTransaction): Promise<void>
  /** Ends what is left of a batch of jobs, and of those inside of it. */
  cancel(order: { id: number; reason: string; who: Seen<BatchState> }): Promise<void>
  /** Live and ended ones, latest first. */
  list(query: { states: readonly BatchState[]; before: number | null; limit: number }): Promise<BatchStatus[]>
  /** Members that ended without success, latest first. */
  failures(query: { id: number; limit: number }): Promise<FailedMember[]>
  /** Corrects counters that cannot be right and goes on with what was cancelled; gives those that history must tell. */
  mend(order: { idleMs: number; keepDays: number }): Promise<UnclearBatch[]>
  /** Counts the members that history knows, and mends the batch by their number. */
  recount(unclear: UnclearBatch, order: { keepDays: number; stopping: AbortSignal }): Promise<void>
  /** Whether there is no place for what ends this week. */
  lacksPartitions(): Promise<boolean>
  /** Makes places for what ends in the next weeks, and drops those that are old enough. */
  maintain(order: { keepDays: number }): Promise<void>
}

/** A new batch of jobs, checked. */
export interface OpenOrder {
  /** As it is stored; JSON. */
  spec: string
  parentId: number | null
  description: string | null
  /** The jobs that may be enqueued for it. */
  callbacks: readonly NewJob[]
  tx: CallersTransaction | undefined
}

/** A batch of jobs of which only history can tell how many members succeeded, and the time in which they ended. */
export interface UnclearBatch {
  event: 'unclear'
  batchId: number
  /** Changes when a member ends or is taken back. */
  seen: string
  /** Members of which nothing but history is left. */
  gone: number
  fromMs: number
  untilMs: number
}
