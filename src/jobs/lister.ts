import { SluiceError } from '../errors.ts'
import * as views from '../store/jobs/views.ts'
import { endedJobStates, liveJobStates, type JobState } from './status.ts'

/** The list that has jobs of these states: unfinished, succeeded and other ends are kept in different tables. */
export function listerOf(states: readonly JobState[]): typeof views.listLive {
  const live = states.filter((state) => (liveJobStates as readonly string[]).includes(state))
  const known = states.every((state) => [...liveJobStates, ...endedJobStates].includes(state))
  const done = states.includes('succeeded')
  if (
    states.length === 0 ||
    !known ||
    (live.length > 0 && live.length < states.length) ||
    (done && states.length > 1)
  ) {
    throw new SluiceError('JOB_STATE', {
      message: `Jobs of the states ${states.join(', ')} cannot be listed together. Ask for some of ${liveJobStates.join(', ')}; for succeeded; or for some of ${endedJobStates.slice(1).join(', ')}.`,
      details: { states },
    })
  }
  if (live.length > 0) return views.listLive
  return done ? views.listDone : views.listDead
}
