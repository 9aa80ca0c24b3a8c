/** What a worker tells those who work in it. */
export interface Shift {
  readonly workerId: string
  readonly leaseMs: number
  /** Aborts when no new work may begin. */
  readonly stopping: AbortSignal
  /** Aborts when the patience with running work is over. */
  readonly ending: AbortSignal
  /** Waits while the process cannot be sure that it is taken for alive. */
  trusted(signal: AbortSignal): Promise<void>
}

/** A part of a worker with work of its own. */
export interface Crew {
  /** Works until the shift stops, and returns when nothing is left in its hands. */
  work(shift: Shift): Promise<void>
}
