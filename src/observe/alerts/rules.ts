import { formatDuration } from '../../std/duration.ts'
import type { Alert } from '../../store/alerts.ts'
import type { QueueSampleRow } from '../../store/samples.ts'
import { quantile, sumOf } from '../samples/histogram.ts'
import { verdictOn, type Verdict } from './hysteresis.ts'
import { trendOf, type Point } from './trend.ts'

/** The names of the rules. */
export type AlertRule =
  | 'queue-growth'
  | 'queue-depth'
  | 'queue-wait'
  | 'queue-wait-trend'
  | 'jobs-dead'
  | 'operation-failed'
  | 'operation-held'
  | 'operation-paused'
  | 'quarantine-growth'
  | 'schedule-failing'

/** What a rule says about a queue, an operation or a schedule. */
export interface Judgement extends Omit<Alert, 'firing' | 'since'> {
  rule: AlertRule
  verdict: Verdict
  value: number
  threshold: number
}

/** A value against its limit. */
const judged = (about: Omit<Judgement, 'verdict'>): Judgement => ({
  ...about,
  verdict: verdictOn(about.value, about.threshold),
})

/** From where on a queue needs a person. */
export interface QueueLimits {
  /** Growth over five minutes, in percent per minute. */
  growth: number
  /** Shorter queues may grow as they like. */
  floor: number
  /** Jobs that wait, however many they were before; null: any number. */
  depth: number | null
  /** The p95 of the time from due to started. */
  waitMs: number
  /** How far ahead to look for the wait to reach its limit. */
  aheadMs: number
  /** Jobs that end without success, per minute. */
  dead: number
}

const count = (n: number): string => Math.round(n).toLocaleString('en-US')
const minute = 60_000
/** A trend needs most of its five minutes. */
const leastSpanMs = 4 * minute
const leastPoints = 12
/** A line that explains less than this of a movement is no trend. */
const leastFit = 0.5
/** A wait that is nowhere near its limit may rise. */
const leastShare = 0.05

/** All rules about one queue, from its samples of the last five minutes, oldest first. */
export function judgeQueue(queue: string, samples: readonly QueueSampleRow[], limits: QueueLimits): Judgement[] {
  return [growth, depth, wait, waitTrend, dead].flatMap((judge) => judge(queue, samples, limits) ?? [])
}

type QueueRule = (queue: string, samples: readonly QueueSampleRow[], limits: QueueLimits) => Judgement | undefined

const growth: QueueRule = (subject, samples, { growth: threshold, floor }) => {
  const points = samples.flatMap(({ at, depth: value }) => (value === null ? [] : [{ atMs: at.getTime(), value }]))
  const trend = spanOf(points) < leastSpanMs ? undefined : trendOf(points, leastPoints)
  if (trend === undefined || trend.mean <= 0) return undefined
  const value = (100 * trend.perMinute) / trend.mean
  const long = (points.at(-1)?.value ?? 0) >= floor
  // What is short again is well, whatever its course.
  const verdict = long ? verdictOn(value, threshold) : 'calm'
  const doubling = value > 0 ? `, and twice as many in ${formatDuration((minute * trend.now) / trend.perMinute)}` : ''
  const message = `queue ${subject} grows by ${value.toFixed(1)} % a minute: ${count(trend.now)} jobs wait${doubling}`
  return { rule: 'queue-growth', subject, verdict, severity: 'warning', message, value, threshold }
}

const depth: QueueRule = (subject, samples, { depth: threshold }) => {
  const value = samples.findLast((sample) => sample.depth !== null)?.depth
  if (threshold === null || value === undefined || value === null) return undefined
  const message = `${count(value)} jobs wait in queue ${subject}, at most ${count(threshold)} should`
  return judged({ rule: 'queue-depth', subject, severity: 'critical', message, value, threshold })
}

const wait: QueueRule = (subject, samples, { waitMs: threshold }) => {
  const last = samples.at(-1)
  if (last === undefined) return undefined
  const recent = samples.filter(({ at }) => last.at.getTime() - at.getTime() < minute)
  const p95 = quantile(sumOf(recent.map((sample) => sample.wait)), 0.95)
  // Where nothing starts, the job that waits longest tells.
  const value = p95 ?? last.oldestMs ?? 0
  const message = `jobs of queue ${subject} wait ${formatDuration(value)} (p95), at most ${formatDuration(threshold)} is right`
  return judged({ rule: 'queue-wait', subject, severity: 'critical', message, value, threshold })
}

const waitTrend: QueueRule = (subject, samples, { waitMs: limit, aheadMs: threshold }) => {
  const points = samples.flatMap(waitPoint)
  const trend = spanOf(points) < leastSpanMs ? undefined : trendOf(points, leastPoints)
  if (trend === undefined) return undefined
  const about = { rule: 'queue-wait-trend', subject, severity: 'warning', threshold } as const
  const rises = trend.perMinute > 0 && trend.fit >= leastFit && trend.now >= leastShare * limit
  const calm = `the wait in queue ${subject} does not rise to its limit`
  if (!rises) return { ...about, verdict: 'calm', value: 0, message: calm }
  const inMs = Math.max(0, ((limit - trend.now) / trend.perMinute) * minute)
  const [now, most] = [formatDuration(trend.now), formatDuration(limit)]
  const message =
    inMs > 0
      ? `worker shortage forming in queue ${subject}: a wait (p95) of ${now} → ${most} expected in ${formatDuration(inMs)}`
      : `worker shortage in queue ${subject}: a wait (p95) of ${now}, at most ${most} is right, and it rises`
  const verdict = inMs <= threshold ? 'broken' : inMs <= threshold * 1.25 ? 'near' : 'calm'
  return { ...about, verdict, value: inMs, message }
}

const dead: QueueRule = (subject, samples, { dead: threshold }) => {
  const value = samples.reduce((sum, { died }) => sum + died, 0) / 5
  const message = `${value.toFixed(1)} jobs a minute of queue ${subject} end without success`
  return judged({ rule: 'jobs-dead', subject, severity: 'critical', message, value, threshold })
}

function waitPoint({ at, wait: histogram, oldestMs }: QueueSampleRow): Point[] {
  const value = quantile(histogram, 0.95) ?? oldestMs
  return value === null ? [] : [{ atMs: at.getTime(), value }]
}

const spanOf = (points: readonly Point[]): number => (points.at(-1)?.atMs ?? 0) - (points[0]?.atMs ?? 0)

/** From where on an operation needs a person. */
export interface OperationLimits {
  heldMs: number
  pausedMs: number
  /** Rows that are quarantined within ten minutes. */
  quarantined: number
}

/** What the rules have to know of an operation. */
export interface OperationFacts {
  id: string
  name: string
  /** How long it has been on hold within the last `heldMs`, and how long it has been paused. */
  held_ms: number
  paused_ms: number
  /** Rows quarantined within the last ten minutes. */
  quarantined: number
}

/** All rules about one operation. */
export function judgeOperation({ id, name, ...facts }: OperationFacts, limits: OperationLimits): Judgement[] {
  const about = { subject: `${name} ${id}`, severity: 'warning' } as const
  const { held_ms: heldMs, paused_ms: pausedMs, quarantined } = facts
  const [held, paused, rows] = [formatDuration(heldMs), formatDuration(pausedMs), count(quarantined)]
  return [
    judged({
      ...about,
      rule: 'operation-held',
      message: `${name} was on hold for ${held} of the last ${formatDuration(limits.heldMs)}`,
      value: heldMs,
      // A hold ends for moments: most of the time is as bad as all of it.
      threshold: 0.8 * limits.heldMs,
    }),
    judged({
      ...about,
      rule: 'operation-paused',
      message: `${name} has been paused for ${paused}`,
      value: pausedMs,
      threshold: limits.pausedMs,
    }),
    judged({
      ...about,
      rule: 'quarantine-growth',
      message: `${rows} rows of ${name} were quarantined within ten minutes`,
      value: quarantined,
      threshold: limits.quarantined,
    }),
  ]
}

/** An operation that has failed needs a person, until it is retried, another run of it has begun, or a day is over. */
export function judgeFailed({ id, name, error }: { id: string; name: string; error: string | null }): Judgement {
  const said = error === null ? '' : `: ${error.length > longest ? `${error.slice(0, longest)}...` : error}`
  const about = { rule: 'operation-failed', subject: `${name} ${id}`, severity: 'critical' } as const
  return judged({ ...about, message: `${name} has failed${said}`, value: 1, threshold: 1 })
}

/** Letters of an error that an alert tells. */
const longest = 300

/** A schedule is failing when none of its last runs has led to success. */
export function judgeSchedule({ name, failed }: { name: string; failed: number }, threshold: number): Judgement {
  const message = `the last ${count(failed)} ticks of schedule ${name} led to no success`
  const verdict = failed >= threshold ? 'broken' : failed === 0 ? 'calm' : 'near'
  return { rule: 'schedule-failing', subject: name, verdict, severity: 'critical', message, value: failed, threshold }
}
