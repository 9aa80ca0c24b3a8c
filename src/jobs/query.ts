import { SluiceError } from '../errors.ts'
import { parseDuration, type Duration } from '../std/duration.ts'
import { storable } from '../std/storable.ts'
import { endedJobStates, liveJobStates, type JobState } from './status.ts'

/** Which jobs to list or to act upon. Without states: those that are not over. */
export interface JobQuery {
  states?: readonly JobState[]
  name?: string
  queue?: string
  tag?: string
  /** Only those whose args have all of these, with a name: args mean something for one kind of job. */
  args?: ArgsFilter
  /** Of jobs that ended without success: those of one group of the same failure; see `failures`. */
  fingerprint?: string
  /** How far back to look for jobs that succeeded, of which there may be very many. Default: an hour. */
  within?: Duration
}

/** What stands at the top of args, such as `{ customerId: 7 }`. */
export type ArgsFilter = Readonly<Record<string, string | number | boolean | null>>

/** Jobs by their ids, as long as they are in one of these states. */
export interface JobSelection {
  ids: readonly number[]
  states: readonly JobState[]
}

/** Which jobs. Null: any. */
export interface JobFilter {
  /** Of one kind: unfinished ones, succeeded ones, or other ends. */
  states: readonly JobState[]
  name: string | null
  queue: string | null
  tag: string | null
  /** Only those whose args contain this, in JSON. */
  args: string | null
  /** Only those with the same failure. */
  fingerprint: string | null
  /** Only jobs before this cursor. */
  before: number | null
  limit: number
  /** Of those that succeeded: only the ones of the last so many milliseconds, as there may be very many. */
  withinMs: number
}

const longestMs = 3_660 * 86_400_000

/** A query as the store asks it. */
function filterOf(
  query: JobQuery & { before?: number | null },
  { states, limit }: { states: readonly JobState[]; limit: number },
): JobFilter {
  return {
    states,
    name: wordOf(query.name),
    queue: wordOf(query.queue),
    tag: wordOf(query.tag),
    args: argsOf(query.args),
    fingerprint: wordOf(query.fingerprint),
    before: query.before ?? null,
    limit,
    withinMs: withinOf(query.within),
  }
}

/** In JSON. No stored text has what cannot be stored. */
function argsOf(args: ArgsFilter | undefined): string | null {
  if (args === undefined) return null
  const word = (value: ArgsFilter[string]): ArgsFilter[string] =>
    typeof value === 'string' ? storable(value, 2_000) : value
  return JSON.stringify(
    Object.fromEntries(Object.entries(args).map(([key, value]) => [storable(key, 200), word(value)])),
  )
}

/** Args are looked for among jobs of one name, and not where they are masked: who may not see a value may not guess it. */
function checkArgs({ name, args }: JobQuery, masked: (name: string) => readonly string[]): void {
  if (args === undefined) return
  if (name === undefined) throw refusedArgs('Args are looked for among jobs of one name. Give the name, too.', args)
  const hidden = new Set(masked(name).map((path) => path.split('.')[1]))
  for (const [key, value] of Object.entries(args)) {
    if (hidden.has(key) || hidden.has('*')) {
      throw refusedArgs(`"${key}" is masked in the args of ${name}, so that one cannot look for it.`, { key })
    }
    if (typeof value === 'object' && value !== null) {
      throw refusedArgs(
        `"${key}" must be a text, a number, true, false or null: args are looked at only at their top.`,
        {
          key,
        },
      )
    }
  }
}

function refusedArgs(message: string, details: object): SluiceError {
  return new SluiceError('ARGS_INVALID', { message, details: { ...details } })
}

/** `customerId=7` as a filter: the value is taken as JSON where it is some, else as text. */
export function parseArgsFilter(text: string): ArgsFilter {
  const at = text.indexOf('=')
  if (at < 1)
    throw refusedArgs(`"${storable(text, 100)}" is no filter of args: write key=value, such as customerId=7.`, {})
  const value = text.slice(at + 1)
  try {
    return { [text.slice(0, at)]: JSON.parse(value) as string }
  } catch {
    return { [text.slice(0, at)]: value }
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

/** A query that was checked, as the store answers it. */
export function lookOf(
  query: JobQuery & { before?: number | null },
  limit: number,
  masked: (name: string) => readonly string[],
): JobFilter {
  checkArgs(query, masked)
  const states = query.states ?? liveJobStates
  checkStates(states)
  return filterOf(query, { states, limit })
}

/** Unfinished jobs, succeeded ones and other ends are kept apart, and are not listed together. */
function checkStates(states: readonly JobState[]): void {
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
}
