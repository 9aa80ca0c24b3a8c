/**
 * What becomes of an attempt: what its handler may return, and the error policy of its job. The policy is data, decided
 * by pure functions. The first rule that matches an error decides; what no rule matches is retried by the default rule,
 * unless the definition says `retry: false`.
 *
 * Decision: the verdict is stored with its reason, so "why was this not retried?" has an answer.
 */
import { parseDuration, type Duration } from '../std/duration.ts'
import { errorChain } from '../std/error-chain.ts'
import { storable } from '../std/storable.ts'
import { sqlstate } from '../store/sqlstate.ts'

/** What `perform` may return instead of nothing. Made by {@link snooze}, {@link cancel} and {@link leave}. */
export class JobOutcome {
  readonly kind: 'snooze' | 'cancel' | 'leave'
  readonly reason: string
  readonly delayMs: number

  constructor(kind: JobOutcome['kind'], { reason, delayMs }: { reason: string; delayMs: number }) {
    this.kind = kind
    this.reason = reason
    this.delayMs = delayMs
  }
}

/** Not now: run the job again after a while. It is no failure and counts as no attempt. */
export function snooze(wait: Duration, reason = 'snoozed'): JobOutcome {
  const delayMs = parseDuration(wait)
  if (delayMs === undefined || delayMs > longestMs) {
    throw new TypeError(`snooze takes a time such as "30s", ten years at most, not ${storable(wait, 100)}`)
  }
  return new JobOutcome('snooze', { reason, delayMs })
}

/** Not any more: end the job, and keep the reason. */
export function cancel(reason: string): JobOutcome {
  return new JobOutcome('cancel', { reason, delayMs: 0 })
}

/** Nothing to do: the job has succeeded without its work, and an event (`job.left`) says why. */
export function leave(reason = 'nothing to do'): JobOutcome {
  return new JobOutcome('leave', { reason, delayMs: 0 })
}

/** The attempt took longer than the job's `timeout`. */
export class JobTimeout extends Error {
  override readonly name = 'JobTimeout'
}

/**
 * What an error may be recognised by: its class, its name or code, or a function of it. A class, name or code is looked
 * for in its causes, too, and in the errors of an AggregateError; a function gets the error that was thrown.
 */
export type ErrorMatch = (abstract new (...args: never[]) => Error) | ((error: unknown) => boolean) | string

/** How long to wait after failure number `attempt` (from 1). */
export type Wait = Duration | WaitPolicy | ((attempt: number, error: unknown) => Duration)

/** A wait that grows; made by {@link exponential} and {@link polynomial}. */
export interface WaitPolicy {
  /** The wait without jitter. */
  delayMs(attempt: number): number
  /** By which share of itself the wait varies, up or down. */
  readonly jitter: number
}

export interface RetryOptions {
  /** Attempts that may fail by this rule before the job is dead, the first one included. */
  attempts?: number
  wait?: Wait
}

/** One line of an error policy. */
export interface ErrorRule {
  readonly kind: 'retry' | 'discard'
  /** What it matches, in words; failures are counted under it. */
  readonly name: string
  readonly attempts: number
  readonly wait: Wait
  matches(error: unknown): boolean
}

const defaultJitter = 0.15
/** Ten years; the database's calendar does not end much later than some waits can grow. */
const longestMs = 3_660 * 86_400_000

/** Waits that double: 2 s, 4 s, 8 s … up to `max`. */
export function exponential({
  base = '2s',
  factor = 2,
  max = '1h',
  jitter = 0.5,
}: { base?: Duration; factor?: number; max?: Duration; jitter?: number } = {}): WaitPolicy {
  const [baseMs, maxMs] = [ms(base, 'base'), ms(max, 'max')]
  return { jitter: share(jitter), delayMs: (attempt) => Math.min(maxMs, baseMs * factor ** Math.min(attempt - 1, 60)) }
}

/** Waits that grow with a power of the attempt: 3 s, 18 s, 83 s … up to `max`. */
export function polynomial({
  base = '2s',
  power = 4,
  max = '1d',
  jitter = defaultJitter,
}: { base?: Duration; power?: number; max?: Duration; jitter?: number } = {}): WaitPolicy {
  const [baseMs, maxMs] = [ms(base, 'base'), ms(max, 'max')]
  return { jitter: share(jitter), delayMs: (attempt) => Math.min(maxMs, baseMs + 1_000 * attempt ** power) }
}

/** Tries again after errors of these kinds, so often and after such waits. */
export function retryOn(...given: [...ErrorMatch[], RetryOptions]): ErrorRule {
  const options = given.at(-1) as RetryOptions
  return rule('retry', given.slice(0, -1) as ErrorMatch[], options)
}

/** Gives up at once after errors of these kinds: the job has become pointless, which is no failure. */
export function discardOn(...matches: ErrorMatch[]): ErrorRule {
  return rule('discard', matches, {})
}

/** Matches the error by which PostgreSQL ends one of two transactions that wait for each other. */
export const DeadlockDetected: ErrorMatch = Object.defineProperty(
  (error: unknown): boolean => errorChain(error).some((one) => sqlstate(one) === '40P01'),
  'name',
  { value: 'DeadlockDetected' },
)

function rule(kind: ErrorRule['kind'], matches: ErrorMatch[], options: RetryOptions): ErrorRule {
  if (matches.length === 0 || matches.some((match) => typeof match !== 'function' && typeof match !== 'string')) {
    throw new TypeError(`${kind}On takes error classes, names, codes or functions`)
  }
  const { attempts = 10, wait = exponential() } = options
  if (!(Number.isSafeInteger(attempts) && attempts > 0 && attempts <= 1_000)) {
    throw new TypeError('"attempts" must be a whole number from 1 to 1,000')
  }
  if (typeof wait !== 'function' && typeof wait !== 'object') ms(wait, 'wait')
  const name = storable(matches.map(nameOf).join(', '), 200)
  return { kind, name, attempts, wait, matches: (error) => matches.some((match) => fits(match, error)) }
}

function nameOf(match: ErrorMatch): string {
  return typeof match === 'string' ? match : match.name || 'a function'
}

function fits(match: ErrorMatch, error: unknown): boolean {
  try {
    if (typeof match === 'string') return errorChain(error).some((one) => isCalled(one, match))
    return isErrorClass(match) ? errorChain(error).some((one) => one instanceof match) : match(error)
  } catch {
    // A rule that cannot cope with an error does not match it; the next one may.
    return false
  }
}

function isCalled(error: unknown, word: string): boolean {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown }
  return name === word || code === word
}

function isErrorClass(match: Exclude<ErrorMatch, string>): match is abstract new (...args: never[]) => Error {
  return match === Error || (match.prototype as unknown) instanceof Error
}

/** What is to become of a job whose attempt failed, and why. */
export type Verdict =
  | { kind: 'retry'; delayMs: number; reason: string; tries: Record<string, number> }
  | { kind: 'discarded'; reason: string }
  | { kind: 'dead'; reason: string }

/** The rule for errors that no other rule matches. */
export const anyError = 'any error'

/** Decides about a failed attempt. `tries` counts earlier failures by rule; `random` is from 0 to 1. */
export function judge(
  { onError, retry }: { onError: readonly ErrorRule[]; retry: false | RetryOptions },
  { error, tries, random }: { error: unknown; tries: Readonly<Record<string, number>>; random: number },
): Verdict {
  const matched = onError.find((candidate) => candidate.matches(error))
  if (matched?.kind === 'discard') return { kind: 'discarded', reason: `discarded on ${matched.name}` }
  if (matched === undefined && retry === false) return { kind: 'dead', reason: 'the job is not retried' }
  const { attempts = 10, wait = exponential({ base: '5s', max: '6h' }) } = matched ?? (retry as RetryOptions)
  const name = matched?.name ?? anyError
  const counter = escaped(name)
  const failures = (tries[counter] ?? 0) + 1
  if (failures >= attempts) return { kind: 'dead', reason: `failed ${failures} of ${attempts} times on ${name}` }
  const delayMs = delayOf(wait, { attempt: failures, error, random })
  return {
    kind: 'retry',
    delayMs,
    reason: `failure ${failures} of ${attempts} on ${name}`,
    tries: { ...tries, [counter]: failures },
  }
}

/** A name that every database can store as it is: under one that has lost characters nothing would be found again. */
function escaped(name: string): string {
  return name.replaceAll(/[^\x20-\x7e]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
}

/** A wait with its jitter. */
export function delayOf(
  wait: Wait,
  { attempt, error, random }: { attempt: number; error: unknown; random: number },
): number {
  if (typeof wait === 'object') return spread(wait.delayMs(attempt), wait.jitter, random)
  // What a function says is taken as it is: it may know better.
  if (typeof wait === 'function') return Math.min(asked(wait, attempt, error), longestMs)
  return spread(ms(wait, 'wait'), defaultJitter, random)
}

/** A function that throws or gives no time has no wish; then the usual wait is better than none. */
function asked(wait: (attempt: number, error: unknown) => Duration, attempt: number, error: unknown): number {
  try {
    return parseDuration(wait(attempt, error)) ?? exponential().delayMs(attempt)
  } catch {
    return exponential().delayMs(attempt)
  }
}

function spread(delayMs: number, jitter: number, random: number): number {
  return Math.min(longestMs, Math.round(delayMs * (1 - jitter + 2 * jitter * random)))
}

function share(jitter: number): number {
  if (jitter >= 0 && jitter <= 1) return jitter
  throw new TypeError('"jitter" must be from 0 to 1')
}

function ms(duration: Duration, option: string): number {
  const parsed = parseDuration(duration)
  if (parsed !== undefined) return parsed
  throw new TypeError(`"${option}" must be a time such as "30s" or "5m", not ${JSON.stringify(duration)}`)
}
