import { SluiceError } from '../errors.ts'
import type { OperationState } from './states.ts'
import type { OperationStatus } from './status.ts'

/** Refuses to act on what is no longer as the caller has seen it, as on a page that was left open. */
export function checkExpected(
  status: OperationStatus,
  { expectedState }: { expectedState?: OperationState },
): OperationStatus {
  if (expectedState === undefined || status.state === expectedState) return status
  const { id, name, state } = status
  throw new SluiceError('STATE_CHANGED', {
    message: `"${name}" was ${expectedState.replaceAll('_', ' ')} when you looked and is ${state.replaceAll('_', ' ')} now. Nothing was changed: look again, then decide.`,
    details: { id, expectedState, state },
  })
}
