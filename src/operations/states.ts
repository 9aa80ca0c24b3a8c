/**
 * The life of an operation, as data: the states it can be in, and those it may go to next, with the reason. The guards
 * of the verbs, the command line and the documentation follow this table.
 *
 * Decisions.
 * - One database function, `sluice.end_operation`, ends operations in every way. So history, summary, freed fingerprint
 *   and transition cannot differ between a finish, a failure and a cancel.
 * - Parked is derived, not stored. It means that no running worker knows the operation, and when no worker runs,
 *   nothing is there to write that down.
 */
export const transitions = {
  /** Recorded; waits for a person to let it run. */
  awaiting_approval: { queued: 'a person approves it', cancelled: 'a person cancels it' },
  /** Waits for a worker and for its table. */
  queued: {
    awaiting_approval: 'its definition asks for an approval that it has not had',
    active: 'a worker takes it up',
    verifying: 'a worker takes it up again in its second pass',
    paused: 'a person pauses it',
    cancelled: 'a person cancels it',
    finished: 'nothing is left to do, as on an empty table',
    finished_with_quarantine: 'the same, and some rows could not be processed',
    failed: 'its row is not what its definition says',
  },
  /** Batches are carved and run. */
  active: {
    held: 'the database lacks something that time may bring back',
    pausing: 'a person pauses it, or too much of it fails',
    paused: 'a person pauses it while nothing of it runs',
    cancelling: 'a person cancels it',
    cancelled: 'a person cancels it while nothing of it runs',
    verifying: 'the first pass is done, and rows in scope can be looked for',
    finished: 'the last key is carved and the last batch is done',
    finished_with_quarantine: 'the same, and some rows could not be processed',
    failed: 'an error that trying again cannot cure',
  },
  /** Waits by itself, with a reason, until a stated time. */
  held: {
    active: 'the time has come, or a person resumes it',
    verifying: 'the same, in the second pass',
    pausing: 'a person pauses it',
    paused: 'a person pauses it while nothing of it runs',
    cancelling: 'a person cancels it',
    cancelled: 'a person cancels it while nothing of it runs',
    failed: 'an error that trying again cannot cure',
  },
  /** Its running batches are about to be given back. */
  pausing: {
    paused: 'the last one was given back',
    active: 'a person resumes it',
    verifying: 'a person resumes it, in the second pass',
    cancelling: 'a person cancels it',
    cancelled: 'a person cancels it while nothing of it runs',
  },
  /** Stopped by a person, or by the circuit breaker; waits for a person. */
  paused: { queued: 'a person resumes it', cancelled: 'a person cancels it' },
  /** A second pass looks for rows in scope that the first did not meet, and processes them. */
  verifying: {
    held: 'the database lacks something that time may bring back',
    pausing: 'a person pauses it, or too much of it fails',
    paused: 'a person pauses it while nothing of it runs',
    cancelling: 'a person cancels it',
    cancelled: 'a person cancels it while nothing of it runs',
    finished: 'the second pass is done',
    finished_with_quarantine: 'the same, and some rows could not be processed',
    failed: 'an error that trying again cannot cure',
  },
  /** Ends when its last running batch has been given back. */
  cancelling: { cancelled: 'the last one was given back' },
  finished: {},
  finished_with_quarantine: { queued: 'a person retries the quarantined rows' },
  failed: { queued: 'a person retries what is left' },
  cancelled: {},
} as const

/** Where an operation is in its life. */
export type OperationState = keyof typeof transitions

/** The states in which nothing more happens by itself. */
export const finalStates: readonly OperationState[] = ['finished', 'finished_with_quarantine', 'failed', 'cancelled']

/** What a person can do to an operation, and from which states. */
export const verbs = {
  pause: ['queued', 'active', 'held', 'verifying'],
  resume: ['paused', 'pausing', 'held'],
  cancel: ['awaiting_approval', 'queued', 'active', 'held', 'pausing', 'paused', 'verifying'],
  approve: ['awaiting_approval'],
  retry: ['finished_with_quarantine', 'failed', 'queued', 'active', 'held', 'paused', 'verifying'],
  set: ['awaiting_approval', 'queued', 'active', 'held', 'pausing', 'paused', 'verifying'],
  finalize: ['queued', 'active', 'held', 'pausing', 'paused', 'verifying'],
} as const satisfies Record<string, readonly OperationState[]>

/** A verb of a person. */
export type OperationVerb = keyof typeof verbs
