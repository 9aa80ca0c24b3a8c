import { formatDuration, type ErrorRecord, type JobAttempt, type JobStatus } from '../../index.ts'
import { count, moment, plural } from '../figures.ts'
import { headLines, labelledLines } from '../layout.ts'
import type { Line, Part } from '../output.ts'
import { sentenceOf, type Surroundings } from './sentence.ts'
import { statePart } from './states.ts'

type Row = readonly [label: string, text: Part]

/** So many attempts are shown; a job that snoozes may have hundreds. */
const shownAttempts = 20
/** Args may have up to 256 KiB. */
const shownArgs = 1_000

/** All about a job: one sentence, then everything else, then each attempt that did not succeed. */
export function jobLines(
  status: JobStatus,
  { attempts = [], ...around }: Surroundings,
  { width, verbose }: { width: number | undefined; verbose: boolean },
): Line[] {
  const told = attempts.some(({ error }) => error?.message === status.error?.message)
  const rows: Row[] = [
    ['id', String(status.id)],
    ['state', statePart(status)],
    ['queue', status.priority === null ? status.queue : `${status.queue}, priority ${status.priority}`],
    ['attempt', attemptText(status)],
    ...(status.reason === null ? [] : [['reason', status.reason] satisfies Row]),
    ...(status.error === null || told ? [] : [['error', ['yellow', errorText(status.error)]] satisfies Row]),
    ['args', argsText(status)],
    ...(status.tags.length === 0 ? [] : [['tags', status.tags.join(', ')] satisfies Row]),
    ...(status.traceId === null ? [] : [['trace', status.traceId] satisfies Row]),
    ...(status.key === null ? [] : [['key', status.key] satisfies Row]),
    ...(status.workerId === null ? [] : [['worker', status.workerId] satisfies Row]),
    ['time', timeText(status, around.now)],
  ]
  return [
    ...headLines(sentenceOf(status, { ...around, attempts }), width),
    ...labelledLines(rows, width),
    ...attemptLines(attempts, { width, verbose }),
  ]
}

/** A job for programs. */
export function jobRecord(status: JobStatus): Record<string, unknown> {
  return { ...status }
}

function attemptText({ attempt, crashes }: JobStatus): string {
  const text = attempt === 0 ? 'none yet' : count(attempt)
  return crashes === 0 ? text : `${text}, its worker died ${plural(crashes, 'time')}`
}

function argsText({ args, state }: JobStatus): string {
  if (state === 'succeeded') return 'not kept of jobs that succeeded'
  const text = JSON.stringify(args)
  if (text.length > shownArgs) return `${text.slice(0, shownArgs)}… (whole with --json)`
  return text === '{}' || text === 'null' ? 'none' : text
}

function timeText({ enqueuedAt, runAt, finishedAt, state, waitMs, runMs }: JobStatus, now: Date): string {
  const enqueued = `enqueued ${moment(enqueuedAt)}`
  if (finishedAt !== null) {
    const took = waitMs === null || runMs === null ? '' : ` after ${formatDuration(waitMs + runMs)}`
    return `${enqueued}, ended ${moment(finishedAt)}${took}`
  }
  const age = `${formatDuration(Math.max(0, now.getTime() - enqueuedAt.getTime()))} ago`
  return state === 'scheduled' && runAt !== null ? `${enqueued}, to run ${moment(runAt)}` : `${enqueued}, ${age}`
}

function attemptLines(
  attempts: readonly JobAttempt[],
  { width, verbose }: { width: number | undefined; verbose: boolean },
): Line[] {
  if (attempts.length === 0) return []
  const shown = verbose ? attempts : attempts.slice(-shownAttempts)
  const left = attempts.length - shown.length
  const earlier: Line[] = left === 0 ? [] : [[['dim', `  ${plural(left, 'earlier attempt')}: see them with --verbose`]]]
  const lines = shown.flatMap((attempt) => [
    ...labelledLines(attemptRows(attempt), width),
    ...(verbose ? stackLines(attempt.error) : []),
  ])
  return [[], ...earlier, ...lines]
}

function attemptRows({ attempt, at, runMs, verdict, reason, nextAt, error }: JobAttempt): Row[] {
  const ran = runMs === null ? '' : `, ran ${formatDuration(runMs)}`
  const wait = nextAt === null ? 0 : Math.max(0, nextAt.getTime() - at.getTime())
  const decided = wait === 0 ? verdict : `${verdict} in ${formatDuration(wait)}`
  const head: Row = [`attempt ${attempt}`, `${moment(at)}${ran}: ${decided}, ${reason}`]
  if (error === null) return [head]
  const causes = (error.causes ?? []).map((cause): Row => ['', ['dim', `caused by ${errorText(cause)}`]])
  return [head, ['', ['yellow', errorText(error)]], ...causes]
}

function stackLines(error: ErrorRecord | null): Line[] {
  const frames = (error?.stack ?? '').split('\n').filter((line) => line.trimStart().startsWith('at '))
  return frames.map((frame): Line => [['dim', `      ${frame.trim()}`]])
}

function errorText({ name, message, code }: ErrorRecord): string {
  return `${name}: ${message}${code === undefined ? '' : ` (${code})`}`
}
