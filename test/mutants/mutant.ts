/** A planted bug: a guard of one of the promises, taken out of the source, and the test that must notice. */
export interface Mutant {
  /** Short, for the command line. */
  name: string
  /** The promise that it breaks, and how. */
  breaks: string
  edits: readonly Edit[]
  /** The test that fails with the bug in place. It runs in the ordinary suites and passes there. */
  caughtBy: { file: string; test: string }
}

/** Text of a source file and what stands there instead. The text must be there exactly once. */
export interface Edit {
  file: string
  from: string
  to: string
}
