/** What a process has seen of the effects of a sweep lately. */
export interface Recent {
  /** Failures since the last success. */
  inARow: number
  /** After a hold: one row at a time, until one succeeds. */
  trial: boolean
}

export const fresh: Recent = { inARow: 0, trial: false }

export function afterFailure({ inARow, trial }: Recent): Recent {
  return { inARow: inARow + 1, trial }
}

/** Whether it is time to hold the sweep. On trial the first failure is enough: nothing has changed. */
export function trips({ inARow, trial }: Recent, failures: number): boolean {
  return trial ? inARow > 0 : inARow >= failures
}
