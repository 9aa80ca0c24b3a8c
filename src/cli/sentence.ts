import { formatDuration, type OperationStatus } from '../index.ts'
import { count, plural } from './figures.ts'
import { oneLine } from './layout.ts'
import { stateText } from './state-words.ts'

/** What an operation does now and what limits it, or how it ended, in one sentence. */
export function sentenceOf(status: OperationStatus): string {
  const { name, state, table, limitedBy, disabled } = status
  const limit = oneLine(limitedBy)
  switch (state) {
    case 'finished':
    case 'finished_with_quarantine':
    case 'failed':
    case 'cancelled':
      return `${name} ${endOf(status)}`
    case 'active':
    case 'verifying':
      return `${name} ${state === 'active' ? 'is walking' : 'is verifying'} ${table}: ${limit}`
    case 'paused':
    case 'held':
      return `${name} is ${disabled ? `${state}, and ${limit}` : limit}`
    case 'awaiting_approval':
    case 'pausing':
    case 'cancelling':
      return disabled ? `${name} is ${stateText(state)}, and ${limit}` : `${name} ${limit}`
    case 'queued':
      return `${name} is queued: ${limit}`
  }
}

function endOf(status: OperationStatus): string {
  const { state, rowsChanged, rowsSeen, rowsQuarantined, error } = status
  const took = formatDuration(tookMs(status))
  const changed = `${count(rowsChanged)} of ${plural(rowsSeen, 'row')} changed in ${took}`
  if (state === 'failed') return `failed after ${took}: ${oneLine(error?.message ?? 'no reason was recorded')}`
  if (state === 'cancelled') return `was cancelled after ${took}: ${plural(rowsChanged, 'row')} changed before`
  if (state === 'finished') return `finished: ${changed}`
  return `finished with quarantine: ${changed}, ${plural(rowsQuarantined, 'row')} could not be processed`
}

/** How long an operation took, or has taken so far. */
export function tookMs({ startedAt, createdAt, finishedAt, asOf }: OperationStatus): number {
  return Math.max(0, (finishedAt ?? asOf).getTime() - (startedAt ?? createdAt).getTime())
}
