import type { ErrorRecord } from '../std/error-record.ts'

interface OfOperation {
  operationId: string
  name: string
}

interface OfBatch extends OfOperation {
  batchId: string
  /** Position of the batch in its operation, from 1. */
  batch: number
}

interface OfMessage {
  inbox: string
  messageId: number
}

interface OfJob {
  jobId: number
  name: string
}

interface OfQueuedJob extends OfJob {
  queue: string
}

interface OfTick {
  schedule: string
  tick: Date
  /** Ticks before it that nobody was there for. */
  missed: number
}

interface OfAlert {
  rule: string
  /** The queue, operation or schedule that it is about. */
  subject: string
  severity: 'warning' | 'critical'
  message: string
}

interface OfJobBatch {
  /** The batch of jobs; not a batch of an operation. */
  batchId: number
}

/**
 * Everything that Sluice says about itself. Logs, metrics, live pages and tests all subscribe to these events;
 * nothing else reports.
 */
export interface Events {
  /** A worker has registered and takes work. */
  'worker.started': { workerId: string; pid: number } & Record<
    'operations' | 'jobs' | 'sweeps' | 'schedules' | 'reconcilers',
    string[]
  >
  /** No renewal has succeeded within the trust window: no new sub-batch starts until one does. */
  'worker.untrusted': { workerId: string; sinceMs: number }
  /** Somebody has asked a worker to end: it takes no new work, and goes when what it runs has ended. */
  'worker.draining': { workerId: string }
  /** A worker has given back what it held and is gone. */
  'worker.stopped': { workerId: string }
  /** An operation was recorded, or an equal unfinished one was found (`duplicate`). */
  'operation.started': OfOperation & {
    table: string
    tenant: string | null
    duplicate: boolean
    /** What a check said against it, when it was started all the same. */
    forced: string | null
  }
  /** An operation waits by itself until `until`, for `reason`. */
  'operation.held': OfOperation & { reason: string; until: Date }
  /** Something else limits the pace of an operation than before, or nothing does (`probe` is null). */
  'operation.limited': OfOperation & {
    probe: string | null
    value: number | null
    soft: number | null
    hard: number | null
    share: number
    reason: string | null
  }
  /** A health signal cannot be seen with this role; `remedy` is the SQL that lets it. Said once. */
  'probe.blind': { probe: string; reason: string; remedy: string }
  /** An operation stops: a person wants it, or too much of it fails. */
  'operation.paused': OfOperation & { reason: string | null; actor: string | null }
  /** A person lets an operation go on. */
  'operation.resumed': OfOperation & { actor: string | null }
  /** A person lets an operation begin. */
  'operation.approved': OfOperation & { actor: string | null }
  /** A person takes up what is left of an operation: so many ranges. */
  'operation.retried': OfOperation & { ranges: number; actor: string | null }
  /** A person changed limits while it runs. */
  'operation.changed': OfOperation & { limits: Record<string, unknown>; actor: string | null }
  'operation.cancelled': OfOperation
  /** The first pass is done; the second looks for rows in scope that it did not meet. */
  'operation.verifying': OfOperation
  /** A definition may not run any more, or may again. */
  /** No operation works until they are enabled. */
  'operations.disabled': { reason: string | null; actor: string | null }
  'operations.enabled': { actor: string | null }
  'operation.disabled': { name: string; reason: string | null; actor: string | null }
  'operation.enabled': { name: string; actor: string | null }
  'operation.finished': OfOperation & {
    rowsSeen: number
    rowsChanged: number
    rowsQuarantined: number
    batches: number
    elapsedMs: number
  }
  'operation.failed': OfOperation & { error: ErrorRecord }
  /** A batch was leased: freshly carved, or taken over at its checkpoint (`resumed`). */
  'batch.started': OfBatch & { workerId: string; resumed: boolean }
  'batch.finished': OfBatch & { rowsSeen: number; rowsChanged: number; subBatches: number; busyMs: number }
  /** A batch met an error and goes on after `waitMs`. */
  'batch.retried': OfBatch & { error: ErrorRecord; attempt: number; waitMs: number }
  /** A stopping worker gave the batch back at its checkpoint. */
  'batch.released': OfBatch
  /** The fence refused: another worker owns the batch now, and this one committed nothing more. */
  'batch.lost': OfBatch & { at: 'renewal' | 'sub-batch' | 'finish' }
  /** The lease of a worker that died or stalled ran out; the batch is free again. */
  'batch.rescued': { operationId: string; batchId: string; workerId: string | null; crashes: number }
  /** Rows that cannot be processed were isolated with their error; the batch goes on behind them. */
  'batch.quarantined': OfBatch & { rows: number; error: ErrorRecord; fingerprint: string }
  /** Row changes and checkpoint committed together. */
  'sub-batch.committed': OfBatch & {
    rowsSeen: number
    rowsMatched: number
    rowsChanged: number
    elapsedMs: number
    walBytes: number
    /** How long its rows were to take; null where sizes are not found by time. */
    targetMs: number | null
  }
  /** The connection broke around a COMMIT; the claim row told whether it had taken effect. */
  'sub-batch.doubted': OfBatch & { outcome: 'committed' | 'rolled back' | 'told by the rows' }
  /** Jobs were recorded in one go, or found to be there already (`duplicates`). */
  'jobs.enqueued': { name: string; queue: string; count: number; duplicates: number }
  'job.started': OfJob & { queue: string; attempt: number; waitMs: number; trace?: string }
  /** A job has succeeded, and that is written down. */
  'job.finished': OfJob & { queue: string; attempt: number; waitMs: number; runMs: number }
  /** A job found nothing to do and left, before `job.finished`: its guard said so, or its handler. */
  'job.left': OfJob & { reason: string }
  /** An attempt failed; the next one comes after `delayMs`. */
  'job.retried': OfQueuedJob & { error: ErrorRecord; reason: string; attempt: number; delayMs: number }
  /** A job asked to be run again later, which is no failure. */
  'job.snoozed': OfQueuedJob & { reason: string; delayMs: number }
  /** A job has become pointless by the rules of its definition. */
  'job.discarded': OfQueuedJob & { reason: string; error: ErrorRecord | null }
  /** The last attempt failed. */
  'job.died': OfQueuedJob & { reason: string; error: ErrorRecord | null }
  'job.cancelled': OfQueuedJob & { reason: string }
  /** A job that can never run, or that kills its workers, was isolated. */
  'job.quarantined': OfQueuedJob & { reason: string; error: ErrorRecord | null }
  /** A stopping worker gave a job back; it counts as no attempt. */
  'job.released': OfJob
  /** The fence refused: the job belongs to another worker now. */
  'job.lost': OfJob
  /** The worker of a job gave no sign of life any more; the job is free again. */
  'job.rescued': OfJob & { workerId: string; crashes: number }
  /** A handler said something. */
  'job.logged': OfJob & { message: string; fields: Record<string, unknown> }
  /** A reconciler has looked at everything: records found, jobs enqueued for them, there already, and refused. */
  'reconciler.finished': {
    name: string
    found: number
    enqueued: number
    duplicates: number
    refused: number
    elapsedMs: number
  }
  /** A run of a reconciler broke off; the next interval goes on. */
  'reconciler.failed': { name: string; error: ErrorRecord }
  /** A message came in, and its job with it. */
  'inbox.received': OfMessage & { key: string }
  /** A message came again; nothing was done. */
  'inbox.duplicate': OfMessage & { key: string }
  /** A key came again with another payload, which is kept beside; the first one counts. */
  'inbox.differed': OfMessage & { key: string }
  /** What a message asked for is done, and that is committed. */
  'inbox.processed': OfMessage & { key: string; jobId: number }
  /** The job of a message ended without success. */
  'inbox.failed': OfMessage & { jobId: number | null }
  /** The jobs of so many messages were lost, and they got new ones. */
  'inbox.healed': { inbox: string; messages: number }
  /** An endpoint did not take a request. */
  'inbox.refused': { inbox: string; status: number; error: ErrorRecord }
  /** A batch of jobs was opened; `parentId`: inside of another one. */
  'job-batch.opened': OfJobBatch & { parentId: number | null; description: string | null }
  /** No member comes from outside any more. */
  'job-batch.sealed': OfJobBatch & { total: number }
  /** A callback was enqueued, as a job. */
  'job-batch.called': OfJobBatch & { kind: 'success' | 'complete' | 'death'; jobId: number }
  /** All members have ended. */
  'job-batch.finished': OfJobBatch & { state: string; total: number; succeeded: number; failed: number }
  /** A person wants its members to end. */
  'job-batch.cancelled': OfJobBatch & { reason: string }
  /** A member was taken up again after all had ended. */
  'job-batch.reopened': OfJobBatch
  /** The sweep found counters that were wrong, and counted anew. */
  'job-batch.mended': OfJobBatch & { total: number; succeeded: number; failed: number }
  'queue.paused': { queue: string; actor: string | null }
  'queue.resumed': { queue: string; actor: string | null }
  /** A tick of a schedule was settled by starting its job or operation, or a person asked for a run (`actor`). */
  'schedule.ticked': OfTick & { jobId: number | null; operationId: string | null; actor: string | null }
  /** A tick started nothing, for this reason. */
  'schedule.skipped': OfTick & { reason: string }
  /** A tick could not start what it was to start. */
  'schedule.failed': OfTick & { reason: string }
  'schedule.disabled': { schedule: string; reason: string | null; actor: string | null }
  'schedule.enabled': { schedule: string; actor: string | null }
  /** Rows of a sweep were claimed. */
  'sweep.claimed': { name: string; count: number }
  /** Rows were finalised under their claim; `zeroed` counts that came down to zero with them. */
  'sweep.finalised': { name: string; count: number; zeroed: number }
  /** An attempt on a row failed; the next one comes after `delayMs`. */
  'sweep.failed': { name: string; key: readonly string[]; error: ErrorRecord; attempt: number; delayMs: number }
  /** A row was isolated; the sweep goes on. */
  'sweep.quarantined': { name: string; key: readonly string[]; error: ErrorRecord }
  /** Workers gave no sign of life any more; their rows were taken over. */
  'sweep.rescued': { name: string; count: number; workerIds: readonly string[] }
  /** The fence refused: the rows belong to another worker now, or are done. */
  'sweep.lost': { name: string; count: number }
  /** Claimed rows were left as they are: not due any more, or made anew. */
  'sweep.spared': { name: string; count: number; reason: string }
  /** Rows were given back; they count as no attempt. */
  'sweep.released': { name: string; count: number }
  /** The circuit breaker opened; no process begins anything of the sweep for `forMs`. */
  'sweep.held': { name: string; reason: string; forMs: number }
  /** Nothing is due any more. */
  'sweep.drained': { name: string; rows: number }
  /** A rule is broken, and a person should look; said once for all processes. */
  'alert.fired': OfAlert & { value: number | null; threshold: number | null }
  /** All has been well for a while again. */
  'alert.cleared': OfAlert & { afterMs: number }
  /** The database cannot be reached; tries go on. */
  'connection.lost': { purpose: string; error: ErrorRecord; attempt: number; waitMs: number }
  'connection.restored': { purpose: string; afterMs: number }
  /** Reads that may go to a replica go there, from now on; or to the primary, and why. */
  'replica.used': { purpose: 'reads' }
  'replica.skipped': { reason: string }
  'schema.migrated': { from: number; to: number }
  /** Something is odd but work goes on; the message says what to do. */
  warning: { message: string }
}

/** Name of an event, such as `batch.finished`. */
export type EventName = keyof Events
