import { formatDuration, type OperationStatus } from '../index.ts'
import { count, moment, percent, plural } from './figures.ts'
import { headLines, labelledLines } from './layout.ts'
import type { Line, Part } from './output.ts'
import { sentenceOf, tookMs } from './sentence.ts'
import { endedWell, isStopped, statePart } from './state-words.ts'

/** Where an operation stands: one sentence, then everything else. */
export function statusLines(status: OperationStatus, width?: number): Line[] {
  const owner = status.tenant === null ? 'system' : `tenant ${status.tenant}`
  const rows: [string, Part][] = [
    ['id', status.id],
    ['state', stateCell(status)],
    ...(status.reason === null ? [] : [['reason', status.reason] satisfies [string, string]]),
    ['table', status.table],
    ['walk', status.walk.says],
    ['args', argsText(status.args)],
    ['owner', status.actor === null ? owner : `${owner}, started by ${status.actor}`],
    ['rows', rowsText(status)],
    ['of these', matchedText(status)],
    ['limits', limitsText(status)],
    ...(status.window === null ? [] : [['window', status.window] satisfies [string, string]]),
    ...(status.hint === null ? [] : [['hint', status.hint] satisfies [string, string]]),
    ['batches', `${count(status.batchesFinished)} finished, ${count(status.batches.length)} open`],
    ['time', timeText(status)],
  ]
  return [...headLines(sentenceOf(status), width), ...labelledLines(rows, width)]
}

/** One line: what an operation does now, or how it ended. */
export function sentenceLine(status: OperationStatus): Line {
  if (endedWell(status) && status.rowsQuarantined === 0) return [['green', '✓'], ` ${sentenceOf(status)}`]
  if (status.state === 'failed') return [['red', '✗'], ` ${sentenceOf(status)}`]
  const mark: Part = isStopped(status) || status.finishedAt !== null ? ['yellow', '!'] : ['green', '✓']
  return [mark, ` ${sentenceOf(status)}`]
}

/** A status for programs. `progress` is there even when unknown. */
export function statusRecord(status: OperationStatus): Record<string, unknown> {
  return { ...status, progress: status.progress ?? null }
}

function stateCell(status: OperationStatus): Part {
  const part = statePart(status)
  const done = status.progress === undefined ? '' : `, ${percent(status.progress)}`
  return typeof part === 'string' ? `${part}${done}` : [part[0], `${part[1]}${done}`]
}

/** No args are stored as an empty object. */
function argsText(args: OperationStatus['args']): string {
  const text = JSON.stringify(args)
  return text === '{}' || text === 'null' ? 'none' : text
}

function rowsText({ rowsSeen, rowsEstimate, rowsMatched }: OperationStatus): string {
  const of = rowsEstimate > 0 ? ` of about ${count(rowsEstimate)}` : ''
  return `${count(rowsSeen)}${of} seen, ${count(rowsMatched)} matched`
}

function matchedText({ rowsChanged, rowsSkipped, rowsQuarantined }: OperationStatus): string {
  return `${count(rowsChanged)} changed, ${count(rowsSkipped)} skipped, ${count(rowsQuarantined)} quarantined`
}

function limitsText({ priority, lanes, mostLanes, pace, subBatchSize, tunedSize }: OperationStatus): string {
  const auto = mostLanes === null ? '' : ` (automatic, up to ${mostLanes})`
  const size = tunedSize === null ? '' : `about ${count(tunedSize)}, `
  return `priority ${priority}, ${plural(lanes, 'lane')}${auto}, pace ${percent(pace)}, ${size}up to ${plural(subBatchSize, 'row')} per sub-batch`
}

function timeText(status: OperationStatus): string {
  const { startedAt, finishedAt, createdAt } = status
  if (startedAt === null && finishedAt === null) return `created ${moment(createdAt)}, not begun yet`
  const took = formatDuration(tookMs(status))
  return `begun ${moment(startedAt ?? createdAt)}, ${finishedAt === null ? `${took} ago` : `ended after ${took}`}`
}
