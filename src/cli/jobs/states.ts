import { InvalidArgumentError } from 'commander'
import { didYouMean, endedJobStates, liveJobStates, type JobState, type JobStatus } from '../../index.ts'
import type { Part } from '../output.ts'
import { wordList } from '../word-list.ts'

/** States that can be asked for together; each group is kept in a place of its own. */
const groups: readonly (readonly JobState[])[] = [liveJobStates, ['succeeded'], endedJobStates.slice(1)]

/** A parser for `--state`. */
export function jobStates(allowed: readonly JobState[]): (text: string) => JobState[] {
  return (text) => {
    const states = wordList(text).map((word) => stateOf(word, allowed))
    if (groups.some((group) => states.every((state) => group.includes(state)))) return states
    const together = groups.map((group) => group.join(', ')).join('; or ')
    throw new InvalidArgumentError(`These cannot be asked for together. Ask for some of: ${together}.`)
  }
}

function stateOf(word: string, allowed: readonly JobState[]): JobState {
  const state = allowed.find((known) => known === word)
  if (state !== undefined) return state
  const hint = didYouMean(word, allowed) || ` Choose from ${allowed.join(', ')}.`
  const known = groups.flat().some((other) => other === word)
  throw new InvalidArgumentError(
    `${known ? `It does not act on "${word}" jobs` : `There is no state "${word}"`}.${hint}`,
  )
}

/** Whether nothing more happens to it by itself. */
export function isOver({ state }: Pick<JobStatus, 'state'>): boolean {
  return endedJobStates.some((ended) => ended === state)
}

/** A state in a colour that says whether somebody should look. */
export function statePart({ state, parked }: Pick<JobStatus, 'state' | 'parked'>): Part {
  if (state === 'dead' || state === 'quarantined') return ['red', state]
  if (state === 'succeeded') return ['green', state]
  const text = parked ? `${state}, parked` : state
  return parked || state === 'cancelled' || state === 'discarded' ? ['yellow', text] : text
}
