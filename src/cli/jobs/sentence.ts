import { formatDuration, type JobAttempt, type JobStatus, type QueueStatus } from '../../index.ts'
import { moment } from '../figures.ts'
import { oneLine } from '../layout.ts'
import type { Line, Part } from '../output.ts'
import { rateText } from '../queues/rate.ts'

/** What is known around a job. */
export interface Surroundings {
  now: Date
  /** Attempts that did not succeed, oldest first. */
  attempts?: readonly JobAttempt[]
  /** Its queue, where that was looked at. */
  queue?: QueueStatus | undefined
}

/** What a job does now, or how it ended, in one sentence. */
export function sentenceOf(status: JobStatus, around: Surroundings): string {
  const { name, id, state, attempt, key, workerId } = status
  const reason = oneLine(status.reason ?? 'no reason was recorded')
  const who = `${name} ${id}`
  switch (state) {
    case 'waiting':
      return `${who} ${waitText(status, around)}`
    case 'scheduled':
      return `${who} ${scheduleText(status, around)}`
    case 'blocked':
      return `${who} waits behind others with the key ${oneLine(key ?? '')}`
    case 'running':
      return `${who} runs, attempt ${attempt}${workerId === null ? '' : `, on worker ${workerId}`}`
    case 'succeeded':
      return `${who} succeeded in attempt ${attempt}${timesText(status)}`
    case 'dead':
    case 'quarantined':
      return `${who} is ${state}: ${reason}`
    case 'discarded':
    case 'cancelled':
      return `${who} was ${state}: ${reason}`
  }
}

/** The sentence with a mark for whether somebody should look. */
export function sentenceLine(status: JobStatus, around: Surroundings): Line {
  const { state, parked } = status
  const ended = state === 'discarded' || state === 'cancelled'
  const mark: Part =
    state === 'dead' || state === 'quarantined' ? ['red', '✗'] : parked || ended ? ['yellow', '!'] : ['green', '✓']
  return [mark, ` ${sentenceOf(status, around)}`]
}

function waitText({ queue: name, parked, runAt, enqueuedAt }: JobStatus, { now, queue }: Surroundings): string {
  if (parked) return `is parked in ${name}: no running worker knows it`
  if (queue?.paused === true) {
    return `waits: its queue ${name} is paused${queue.pausedBy === null ? '' : ` by ${oneLine(queue.pausedBy)}`}`
  }
  const since = formatDuration(Math.max(0, now.getTime() - (runAt ?? enqueuedAt).getTime()))
  const rate = queue?.rate ?? null
  return `waits in ${name} for ${since}${rate === null ? '' : `; at most ${rateText(rate)} start there`}`
}

function scheduleText({ runAt, parked }: JobStatus, { now, attempts = [] }: Surroundings): string {
  const last = attempts.at(-1)
  const again = last?.nextAt == null ? 'runs' : 'runs again'
  const when = `${again} ${dueText(runAt, now)}${parked ? ', once a worker knows it' : ''}`
  if (last?.verdict === 'retry') return `failed and ${when}: ${oneLine(last.error?.message ?? last.reason)}`
  if (last?.verdict === 'snooze') return `is snoozed and ${when}: ${oneLine(last.reason)}`
  return `is scheduled: it ${when}`
}

function dueText(runAt: Date | null, now: Date): string {
  const ms = (runAt ?? now).getTime() - now.getTime()
  return ms <= 0 ? 'as soon as there is room' : `in ${formatDuration(ms)}, at ${moment(runAt ?? now)}`
}

function timesText({ waitMs, runMs }: JobStatus): string {
  if (waitMs === null || runMs === null) return ''
  return `: it waited ${formatDuration(waitMs)} and ran ${formatDuration(runMs)}`
}
