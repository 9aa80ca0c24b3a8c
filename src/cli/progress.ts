import type { OperationStatus } from '../index.ts'
import { count, percent } from './figures.ts'
import type { Line } from './output.ts'
import { isOver, isStopped, stateText } from './state-words.ts'
import { rowsPerSecond, timeLeft, type Sample } from './pace.ts'

const widestBar = 50
const narrowestBar = 10

/** The live block: a bar, the numbers in as many lines as the width asks for, and what limits the pace. */
export function progressBlock(status: OperationStatus, history: readonly Sample[], width: number): Line[] {
  return [
    barLine(status, width),
    ...wrapFacts(facts(status, history), width - 2).map((text): Line => [`  ${text}`]),
    ...(status.finishedAt === null ? [limiterLine(status, width)] : []),
  ]
}

/** The same in one line, for logs. */
export function progressLine(status: OperationStatus, history: readonly Sample[]): string {
  const done = status.progress === undefined ? '' : ` ${percent(status.progress)}`
  const limit = status.finishedAt === null ? [status.limitedBy] : []
  return `${status.name}${done}: ${[...facts(status, history), ...limit].join(', ')}`
}

function barLine({ name, state, progress }: OperationStatus, width: number): Line {
  if (progress === undefined) return [['bold', name.slice(0, width - 10)], ` ${stateText(state)}`]
  const figure = percent(progress).padStart(6)
  const label = name.slice(0, Math.max(1, width - narrowestBar - figure.length - 1))
  const length = Math.max(1, Math.min(widestBar, width - label.length - figure.length - 1))
  const [filled, rest] = bar(progress, length)
  return [['bold', label], ' ', ['green', filled], ['dim', rest], figure]
}

/** The two halves of a bar. It is full only at the very end. */
export function bar(progress: number, length: number): [filled: string, rest: string] {
  const filled = Math.floor(Math.min(1, Math.max(0, progress)) * length)
  return ['█'.repeat(filled), '░'.repeat(length - filled)]
}

function seenText({ rowsSeen, rowsEstimate, pastEstimate }: OperationStatus): string {
  const seen = count(rowsSeen)
  if (rowsEstimate <= 0) return `${seen} rows seen`
  return pastEstimate
    ? `${seen} rows seen, past the estimate of ~${count(rowsEstimate)}`
    : `${seen} of ~${count(rowsEstimate)} rows seen`
}

function facts(status: OperationStatus, history: readonly Sample[]): string[] {
  const { state, rowsChanged, rowsQuarantined } = status
  const rate = rowsPerSecond(history)
  const left = timeLeft(status)
  return [
    ...(state === 'active' || isOver(status) ? [] : [stateText(state)]),
    seenText(status),
    `${count(rowsChanged)} changed`,
    ...(rowsQuarantined === 0 ? [] : [`${count(rowsQuarantined)} quarantined`]),
    ...(rate === undefined ? [] : [`${count(rate)} rows/s`]),
    ...(left === undefined ? [] : [left]),
  ]
}

/** Facts in lines that fit; a fact is never torn, only cut when it alone is too wide. */
export function wrapFacts(parts: readonly string[], width: number): string[] {
  const lines: string[] = []
  for (const part of parts) {
    const last = lines.at(-1)
    const joined = last === undefined ? undefined : `${last} · ${part}`
    if (joined !== undefined && joined.length <= width) lines[lines.length - 1] = joined
    else lines.push(part.slice(0, Math.max(1, width)))
  }
  return lines
}

function limiterLine(status: OperationStatus, width: number): Line {
  const { batches, limitedBy } = status
  const troubled = isStopped(status) || batches.some(({ leaseMs }) => leaseMs !== null && leaseMs < 0)
  return ['  ', [troubled ? 'yellow' : 'dim', `limited by: ${limitedBy}`.slice(0, Math.max(1, width - 2))]]
}
