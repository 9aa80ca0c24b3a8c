import type { QuarantinedRange } from '../index.ts'
import { ago, count, plural } from './figures.ts'
import { oneLine, tableLines } from './layout.ts'
import type { Line, Part } from './output.ts'

/** Ranges that failed in the same way. */
export interface QuarantineGroup {
  fingerprint: string
  ranges: number
  rows: number
  firstKey: readonly string[]
  error: QuarantinedRange['error']
}

/** Groups by the fingerprint of the error, the largest group first. */
export function groupRanges(ranges: readonly QuarantinedRange[]): QuarantineGroup[] {
  const groups = new Map<string, QuarantineGroup>()
  for (const { fingerprint, rows, upper_key: firstKey, error } of ranges) {
    const group = groups.get(fingerprint) ?? { fingerprint, ranges: 0, rows: 0, firstKey, error }
    groups.set(fingerprint, { ...group, ranges: group.ranges + 1, rows: group.rows + rows })
  }
  return [...groups.values()].toSorted((a, b) => b.rows - a.rows)
}

/** The first groups in a table. */
export function groupTable(groups: readonly QuarantineGroup[], width?: number): Line[] {
  const columns = [
    { title: 'quarantined', align: 'right' },
    { title: 'first key', least: 9 },
    { title: 'error', least: 20 },
  ] as const
  const rows = groups.map(({ rows: number, firstKey, error }): Part[] => [
    count(number),
    keyText(firstKey),
    ['yellow', errorText(error)],
  ])
  return tableLines(columns, rows, width === undefined ? undefined : width - 2).map((line): Line => ['  ', ...line])
}

/** Each range in a table. */
export function rangeTable(ranges: readonly QuarantinedRange[], now: Date, width?: number): Line[] {
  const columns = [
    { title: 'key', least: 12 },
    { title: 'rows', align: 'right' },
    { title: 'batch', align: 'right', dispensable: 1 },
    { title: 'since', align: 'right', dispensable: 2 },
    { title: 'error', least: 20 },
  ] as const
  const rows = ranges.map((range): Part[] => [
    rangeText(range),
    count(range.rows),
    String(range.seq),
    ago(now.getTime() - range.quarantined_at.getTime()),
    ['yellow', errorText(range.error)],
  ])
  return tableLines(columns, rows, width)
}

/** A range for programs, in the names of the rest of the answer. */
export function rangeRecord(range: QuarantinedRange): Record<string, unknown> {
  const { id, seq, lower_key, upper_key, rows, error, fingerprint, quarantined_at } = range
  return { id, batch: seq, from: lower_key, to: upper_key, rows, error, fingerprint, quarantinedAt: quarantined_at }
}

/** Ranges and rows in words. */
export function quarantineText(ranges: readonly QuarantinedRange[]): string {
  const rows = ranges.reduce((sum, range) => sum + range.rows, 0)
  return `${plural(rows, 'row')} in ${plural(ranges.length, 'range')}`
}

/** A key as its values. */
export function keyText(key: readonly string[]): string {
  return key.length === 1 ? (key[0] ?? '') : `(${key.join(', ')})`
}

/** One row is its key; of several the first key is not included. */
function rangeText({ rows, lower_key, upper_key }: QuarantinedRange): string {
  if (rows === 1) return keyText(upper_key)
  return lower_key === null ? `up to ${keyText(upper_key)}` : `${keyText(lower_key)} < … ≤ ${keyText(upper_key)}`
}

function errorText({ message, code }: QuarantinedRange['error']): string {
  return code === undefined ? oneLine(message) : `${oneLine(message)} (${code})`
}
