import { formatDuration, type OperationStatus } from '../index.ts'
import { count, percent, plural } from './figures.ts'
import type { Line } from './output.ts'

/** Where an operation stands, in a few lines. */
export function statusLines(status: OperationStatus): Line[] {
  const done = status.progress === undefined ? '' : `, ${percent(status.progress)}`
  const owner = status.tenant === null ? 'system' : `tenant ${status.tenant}`
  const rows: [string, string][] = [
    ['id', status.id],
    ['state', `${status.state}${done}`],
    ['table', status.table],
    ['args', status.args === null ? 'none' : JSON.stringify(status.args)],
    ['owner', status.actor === null ? owner : `${owner}, started by ${status.actor}`],
    ['rows', rowsText(status)],
    ['batches', `${count(status.batchesFinished)} finished, ${count(status.batches.length)} open`],
    ['time', timeText(status)],
    status.error === null ? ['limited by', status.limitedBy] : ['error', status.error.message],
  ]
  return [[['bold', status.name]], ...rows.map(([label, text]): Line => ['  ', ['dim', label.padEnd(10)], ' ', text])]
}

/** How an operation ended. */
export function outcomeLines(status: OperationStatus): Line[] {
  const took = status.finishedAt === null ? '' : ` in ${formatDuration(tookMs(status))}`
  if (status.state === 'failed') {
    return [[['red', '✗'], ` ${status.name} failed${took}: ${status.error?.message ?? 'no reason was recorded'}`]]
  }
  return [
    [
      ['green', '✓'],
      ` ${status.name} ${status.state}: ${count(status.rowsChanged)} of ${plural(status.rowsSeen, 'row')} changed${took}`,
    ],
  ]
}

/** A status for programs. `progress` is there even when unknown. */
export function statusRecord(status: OperationStatus): Record<string, unknown> {
  return { ...status, progress: status.progress ?? null }
}

/** How long an operation took, or has taken so far. */
export function tookMs({ startedAt, createdAt, finishedAt, asOf }: OperationStatus): number {
  return Math.max(0, (finishedAt ?? asOf).getTime() - (startedAt ?? createdAt).getTime())
}

function rowsText({ rowsSeen, rowsEstimate, rowsChanged }: OperationStatus): string {
  const of = rowsEstimate > 0 ? ` of about ${count(rowsEstimate)}` : ''
  return `${count(rowsSeen)}${of} seen, ${count(rowsChanged)} changed`
}

function timeText(status: OperationStatus): string {
  const { startedAt, finishedAt, createdAt } = status
  if (startedAt === null && finishedAt === null) return `created ${iso(createdAt)}, not begun yet`
  const end =
    finishedAt === null
      ? `running for ${formatDuration(tookMs(status))}`
      : `ended after ${formatDuration(tookMs(status))}`
  return `begun ${iso(startedAt ?? createdAt)}, ${end}`
}

function iso(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`
}
