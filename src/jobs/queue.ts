/**
 * The port to the store of jobs: what the engine needs of a place in which jobs wait, run and end. One implementation
 * keeps them in PostgreSQL (`store/jobs/postgres-queue.ts`).
 *
 * The model. `enqueue`, `act` and `read` are for everybody. The other seven are for a process that works on jobs; they
 * take its {@link QueueWorker}, and a store may remember what it has learned for a worker as long as that object lives.
 *
 * The invariants that a store must keep. A job has one holder: whoever claimed it under a nonce. Every ending compares
 * that nonce, and a stale one changes nothing. A unique key is freed together with the start or the end of its job.
 * What is enqueued in a transaction of the caller exists when, and only when, that commits. Hints only save time.
 *
 * On a crash of a worker, `rescue` in any other process frees what it held, and counts the crash on each job.
 */
import type { Condition } from '../std/condition.ts'
import type { ErrorRecord } from '../std/error-record.ts'
import type { Json } from '../std/json.ts'
import type { Who } from '../store/audit.ts'
import type { Connection, StoreConnection } from '../store/connection.ts'
import type { Seen } from '../store/expected.ts'
import type { Ending, JobClaim, JobId } from './ending.ts'
import type { JobFilter } from './query.ts'
import type { FailureGroup, JobAttempt, JobState, LockView, QueueStatus, StoredJob } from './status.ts'

/** A transaction of the caller. Only the store knows what it is. */
export type CallersTransaction = Connection

export interface JobQueue {
  /** Records jobs, in the order given, and wakes whoever may run them. Concurrent calls may share a statement. */
  enqueue(jobs: readonly NewJob[], order?: EnqueueOrder): Promise<EnqueuedRow[]>
  /** The same for jobs that a statement of somebody else records together with something else. */
  enqueue<T>(jobs: readonly Unbound[], order: RecordOrder<T>): Promise<T>
  /** Changes jobs, queues or keys by the will of a person or of another part of Sluice. */
  act<K extends keyof QueueActs>(act: K, order: QueueActs[K]['order']): Promise<QueueActs[K]['done']>
  /** Looks at jobs, queues and keys. */
  read<K extends keyof QueueReads>(what: K, query: QueueReads[K]['query']): Promise<QueueReads[K]['found']>

  /** Claims jobs: those of one nonce at a time, as soon as they are claimed. */
  claim(worker: QueueWorker, order: ClaimOrder): AsyncIterable<Claimed>
  /** Writes endings down, if their claims are still ours, and wakes the worker if that made room for others. */
  settle(worker: QueueWorker, order: SettleOrder): Promise<Settled>
  /**
   * Runs work in a transaction that commits together with the ending that it gives. Gives the ending; undefined: the
   * answer to the COMMIT was lost, and the job has succeeded. Throws {@link JobLost} or {@link ConnectionBroken}.
   */
  transact(
    worker: QueueWorker,
    claim: HeldClaim,
    work: (tx: CallersTransaction) => Promise<Ending>,
  ): Promise<Ending | undefined>
  /** What has become of claims, by {@link claimKey}; what is not in the answer is not ours any more. */
  look(worker: QueueWorker, claims: readonly JobClaim[], ended?: EndedBetween): Promise<ReadonlyMap<string, ClaimFate>>
  /** Frees what silent workers hold, isolates what killed its workers, or gives back what this worker does not know. */
  rescue(worker: QueueWorker, order: RescueOrder): Promise<Rescued>
  /** Gives hints until the signal aborts, the first when it listens: new jobs of this process at once, of others soon. */
  listen(worker: QueueWorker, signal: AbortSignal): Promise<void>
  /** Lets in what is due or has room, and drops old history; to be called every second. `more`: there is more to do. */
  maintain(worker: QueueWorker, kept?: KeptHistory): Promise<{ more: boolean }>
}

/** A process that works on jobs, as its queue sees it. */
export interface QueueWorker {
  readonly workerId: string
  /** The jobs that it knows. */
  readonly jobs: readonly KnownJob[]
  /** The queues that it works on, and how much each counts; undefined: all, alike. */
  readonly weights: Weights
  /** Whether it could begin a job at once. */
  readonly idle: boolean
  /** Notified when there may be something to claim. */
  readonly hint: Condition
}

export type Weights = Readonly<Record<string, number>> | undefined

/** What a store has to know of a definition. */
export interface KnownJob {
  readonly name: string
  readonly queue: string
  readonly priority: 'high' | 'normal' | 'low'
  readonly unique: { forMs: number | undefined; until: 'start' | 'success'; keyed: boolean } | undefined
  readonly limit: number | undefined
}

/** One job to be recorded. */
export interface NewJob {
  job: string
  queue?: string
  /** JSON text of the args: made once, put in as it is. */
  args: string
  priority?: 'high' | 'normal' | 'low'
  delayMs?: number
  runAt?: string
  tags?: readonly string[]
  unique?: { key?: string; forMs?: number; until: 'start' | 'success' } | null
  key?: { name: string; limit: number }
  /** The batch of jobs that it joins; `member`: the job that adds it from inside. */
  batch?: { id: number; member?: number }
}

/** A new job whose args are not known yet. */
export type Unbound = Omit<NewJob, 'args'>

/** The id of a job that was recorded, or of the one that has its unique key. */
export interface EnqueuedRow {
  id: JobId
  duplicate: boolean
}

export interface EnqueueOrder {
  /** Record them in this transaction. */
  tx?: CallersTransaction | undefined
  /** With `tx`: wake workers by a notification that goes out with its commit. */
  notify?: boolean
  /** Record in one transaction with the jobs what a person did, by the id of the first. */
  audit?: { who: Who; action: string; after: Json }
}

export interface RecordOrder<T> {
  tx?: CallersTransaction | undefined
  /** `hint`: the statement is to wake workers when it commits. */
  record: (connection: StoreConnection, hint: boolean) => Promise<T>
}

export interface ClaimOrder {
  /** How many jobs at most. */
  limit: number
  /** How many could begin at once: more of those that were claimed when a worker died do not come. */
  free: number
  /** How many of those on which workers have died more than once. */
  suspects: number
  /** Somebody said that there is something. */
  hinted: boolean
}

/** A claimed job, with what is needed to run it. Times are in milliseconds since 1970. */
export interface ClaimedJob {
  id: JobId
  name: string
  queue: string
  attempt: number
  crashes: number
  runAt: number
  /** Null: the same as `runAt`. */
  enqueuedAt: number | null
  args: Json
  tags: string[] | null
  /** Failures by rule. */
  tries: Record<string, number> | null
  /** Whether it has a concurrency key. */
  keyed: boolean
  /** Why a person wants it to end; null: nobody does. */
  cancelling: string | null
  /** The batch of jobs that it is a member of. */
  batchId: number | null
}

/** Whether a job is to run without others of its kind: more than one worker has died with it at hand. */
export function isSuspect({ crashes }: ClaimedJob): boolean {
  return crashes > 1
}

/** Jobs that were claimed in one go, under one nonce. */
export interface Claimed {
  claimId: string
  jobs: ClaimedJob[]
  /** What to add to a time of our monotonic clock to have the store's, and a little less: the answer took its time. */
  clockMs: number
  /** Of these, jobs of another queue than they were asked of. They must not run here. */
  misplaced: ReadonlySet<ClaimedJob>
}

/** A claim for a transaction. */
export interface HeldClaim extends JobClaim {
  /** The name of its job, for errors. */
  name: string
  /** The earliest time by the store's clock at which its job can have ended. */
  sinceMs: number
}

/** Times by the store's clock. */
export interface EndedBetween {
  fromMs: number
  untilMs: number
}

/** `completed` is only said of the claims that are asked about with a time. */
export type ClaimFate = 'held' | 'completed' | { cancelling: string }

export interface SettleOrder {
  endings: readonly Ending[]
  /** Claims of which no job is left after this. */
  emptyClaims: readonly string[]
  /** Do not wait longer than this for a lock, but write nothing and say `busy`. */
  lockMs?: number | undefined
}

/** The ids of those that were still ours. */
export type Settled = { kept: JobId[] } | 'busy'

export interface RescueOrder {
  /** Workers without a sign of life for so long are taken for dead. */
  silent?: { leaseMs: number; /** Isolate jobs with so many crashes. */ crashes: number }
  /** The claims that this worker knows: others in its name go back. */
  known?: { has(claimId: string): boolean }
}

export interface Rescued {
  freed: readonly { id: JobId; name: string; workerId: string; crashes: number }[]
  isolated: readonly { id: JobId; name: string; queue: string; crashes: number }[]
  /** How many jobs went back that this worker did not know. */
  returned: number
}

/** For how long ended jobs are kept. */
export interface KeptHistory {
  keepDays: number
  keepDeadDays: number
}

/** What can be done to many jobs at once. */
export type BulkAction = 'retry' | 'run' | 'cancel' | 'discard'

export interface QueueActs {
  /** Gives the number of jobs on which it had an effect. */
  jobs: { order: JobAct; done: number }
  /** False: there is no such queue. */
  queue: { order: QueueAct; done: boolean }
  /** Frees a unique key; false: it was not taken. */
  unlock: { order: { name: string; key: string; who: Who }; done: boolean }
  /** Frees the unique keys of jobs that are gone without them; gives these jobs. */
  freeOrphans: { order: { ids: readonly JobId[] }; done: ReadonlySet<JobId> }
}

/** What to do to jobs. */
export interface JobAct {
  ids: readonly JobId[]
  action: BulkAction
  reason: string
  /** Who asks for it, when it is a person: then it is written down, in the same transaction. */
  who?: Who
  /** The state that the job was in before. */
  was?: string | undefined
  /** Only while it is in this state. */
  from?: string | undefined
}

/** What a person can change of a queue. */
export interface QueueSwitches {
  paused: boolean
  limit: number | null
  perMs: number | null
}

export interface QueueAct {
  queue: string
  verb: 'pause' | 'resume' | 'limit'
  who: Seen<'open' | 'paused'>
  actor: string | null
  after: Partial<QueueSwitches>
}

export interface QueueReads {
  job: { query: { id: JobId }; found: StoredJob | undefined }
  /** Attempts that did not succeed, oldest first. */
  attempts: { query: Pick<StoredJob, 'id' | 'enqueuedAt' | 'finishedAt'>; found: JobAttempt[] }
  /** Latest first. */
  jobs: { query: JobFilter; found: StoredJob[] }
  /** How many there are, counted up to the limit. */
  count: { query: JobFilter; found: number }
  failures: { query: { states: readonly JobState[]; latest: number; limit: number }; found: FailureGroup[] }
  keys: { query: { name: string | null; limit: number }; found: LockView[] }
  queues: { query: void; found: QueueStatus[] }
  /** Whether a job has not ended yet, as the transaction of the caller sees it. */
  live: { query: { id: JobId; tx: CallersTransaction }; found: boolean }
  /** Which of these jobs ended without success since a moment. */
  dead: { query: { ids: readonly JobId[]; since: Date }; found: ReadonlySet<JobId> }
  /** Which of these steps of machines have ended with MACHINE_STATE since their row is in its state. */
  unmoved: { query: { steps: readonly StepOfRow[] }; found: { at: number; error: ErrorRecord }[] }
}

/** The job of a state of a machine for one row, and since when the row is in that state; null: nobody knows. */
export interface StepOfRow {
  at: number
  name: string
  args: unknown
  since: string | null
}
