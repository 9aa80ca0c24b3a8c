/** The system's code of a failed call, such as `EACCES`. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** The first thing to tell of a cause that may be anything. */
export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause)).trim()
