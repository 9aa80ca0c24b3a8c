import { finalStates, type OperationState, type OperationStatus } from '../index.ts'
import type { Part } from './output.ts'

/** A state as people read it; programs get it as it is. */
export function stateText(state: OperationState): string {
  return state.replaceAll('_', ' ')
}

/** A state with what keeps it from its turn, in a colour that says whether somebody should look. */
export function statePart({ state, parked, disabled }: Pick<OperationStatus, 'state' | 'parked' | 'disabled'>): Part {
  const aside = disabled ? ', disabled' : parked ? ', parked' : ''
  const text = `${stateText(state)}${aside}`
  if (state === 'failed') return ['red', text]
  if (state === 'finished') return ['green', text]
  return isStopped({ state, parked, disabled }) || state === 'finished_with_quarantine' ? ['yellow', text] : text
}

/** It does not go on until something outside of it happens. */
export function isStopped({
  state,
  parked,
  disabled,
}: Pick<OperationStatus, 'state' | 'parked' | 'disabled'>): boolean {
  return parked || disabled || ['awaiting_approval', 'held', 'pausing', 'paused', 'cancelling'].includes(state)
}

/** Nothing more happens by itself. */
export function isOver({ state }: Pick<OperationStatus, 'state'>): boolean {
  return finalStates.includes(state)
}

/** It came to its end, even if some rows could not be processed. */
export function endedWell({ state }: Pick<OperationStatus, 'state'>): boolean {
  return state === 'finished' || state === 'finished_with_quarantine'
}
