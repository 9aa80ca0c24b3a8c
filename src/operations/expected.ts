import { refuseStale } from '../store/expected.ts'
import type { OperationState } from './states.ts'
import type { OperationStatus } from './status.ts'

/** Refuses to act on an operation that is no longer as the caller has seen it; gives it otherwise. */
export function checkExpected(status: OperationStatus, seen: { expectedState?: OperationState }): OperationStatus {
  refuseStale(`"${status.name}"`, status.state, seen)
  return status
}
