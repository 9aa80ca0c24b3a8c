/**
 * The life of an operation, as data: the status it has, and those it may go to next, with the reason. The guards in
 * `store/operations.ts`, the command line and the documentation follow this table.
 */
export const transitions = {
  /** Recorded; no batch has been carved yet. */
  queued: {
    active: 'a worker carves the first batch',
    held: 'the first batch cannot be carved for now',
    finished: 'the table has no row',
    failed: 'the first batch can never be carved',
  },
  /** Batches are carved and run. */
  active: {
    held: 'the database lacks something that time may bring back',
    finished: 'the last key is carved and the last batch is done',
    failed: 'an error that trying again cannot cure',
  },
  /** Waits by itself, with a reason, until a stated time. */
  held: { active: 'the time has come', failed: 'an error that trying again cannot cure' },
  finished: {},
  failed: {},
} as const

/** Where an operation is in its life. */
export type OperationState = keyof typeof transitions

/** The states in which nothing more happens. */
export const finalStates = (Object.keys(transitions) as OperationState[]).filter(
  (state) => Object.keys(transitions[state]).length === 0,
)
