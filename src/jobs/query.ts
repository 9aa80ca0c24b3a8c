import { SluiceError } from '../errors.ts'
import { parseDuration, type Duration } from '../std/duration.ts'
import { storable } from '../std/storable.ts'
import type { JobFilter } from '../store/jobs/views.ts'
import type { JobState } from './status.ts'

/** Which jobs to list or to act upon. Without states: those that are not over. */
export interface JobQuery {
  states?: readonly JobState[]
  name?: string
  queue?: string
  tag?: string
  /** Of jobs that ended without success: those of one group of the same failure; see `failures`. */
  fingerprint?: string
  /** How far back to look for jobs that succeeded, of which there may be very many. Default: an hour. */
  within?: Duration
}

/** Jobs by their ids, as long as they are in one of these states. */
export interface JobSelection {
  ids: readonly number[]
  states: readonly JobState[]
}

const longestMs = 3_660 * 86_400_000

/** A query as the store asks it. */
export function filterOf(
  query: JobQuery & { before?: number | null },
  { states, limit }: { states: readonly JobState[]; limit: number },
): JobFilter {
  return {
    states,
    name: wordOf(query.name),
    queue: wordOf(query.queue),
    tag: wordOf(query.tag),
    fingerprint: wordOf(query.fingerprint),
    before: query.before ?? null,
    limit,
    withinMs: withinOf(query.within),
  }
}

/** A word to look for. No stored text has what cannot be stored, so there is nothing to find then. */
export function wordOf<T extends string | undefined>(word: T): T extends string ? string : string | null {
  return (word === undefined ? null : storable(word, 2_000)) as T extends string ? string : string | null
}

function withinOf(within: Duration = '1h'): number {
  const ms = parseDuration(within)
  if (ms !== undefined) return Math.min(ms, longestMs)
  throw new SluiceError('ARGS_INVALID', {
    message: `"within" must be a time such as "30s" or "1d", not ${JSON.stringify(within)}.`,
    details: { within },
  })
}
