import { SluiceError } from '../errors.ts'
import * as lists from '../store/jobs/lists.ts'
import { checkArgs, filterOf, type JobQuery } from './query.ts'
import { endedJobStates, liveJobStates, type JobState } from './status.ts'

interface Lister {
  list: typeof lists.listLive
  count: typeof lists.countLive
}

/** A query that was checked, and what answers it. */
export function lookOf(
  query: JobQuery & { before?: number | null },
  limit: number,
  masked: (name: string) => readonly string[],
): Lister & { filter: lists.JobFilter } {
  checkArgs(query, masked)
  const states = query.states ?? liveJobStates
  return { ...listerOf(states), filter: filterOf(query, { states, limit }) }
}

/** What lists and counts jobs of these states: unfinished, succeeded and other ends are kept in different tables. */
function listerOf(states: readonly JobState[]): Lister {
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
  if (live.length > 0) return { list: lists.listLive, count: lists.countLive }
  if (done) return { list: lists.listDone, count: lists.countDone }
  return { list: lists.listDead, count: lists.countDead }
}
