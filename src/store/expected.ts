import { SluiceError } from '../errors.ts'
import type { Who } from './audit.ts'

/** Who does it, from where and why, and what they have seen before. */
export interface Seen<State extends string> extends Who {
  /** The state in which the caller has seen it; when it is in another one by now, nothing is done. */
  expectedState?: State
}

/** Whether something is switched on. */
export type Switch = 'enabled' | 'disabled'

/**
 * Refuses to act on what is no longer as the caller has seen it, as on a page that was left open. To be called with the
 * state under lock, in the transaction of the act: that rolls back then.
 */
export function refuseStale(what: string, state: string, { expectedState }: { expectedState?: string }): void {
  if (expectedState === undefined || state === expectedState) return
  const [then, now] = [expectedState, state].map((word) => word.replaceAll('_', ' '))
  throw new SluiceError('STATE_CHANGED', {
    message: `${what} was ${then} when you looked and is ${now} now. Nothing was changed: look again, then decide.`,
    details: { expectedState, state },
  })
}
