import { formatDuration, type OperationPlan } from '../index.ts'
import { bytes, count, plural } from './figures.ts'
import { headLines, tableLines } from './layout.ts'
import type { Line, Part } from './output.ts'
import { keyText } from './quarantine-lines.ts'

type RehearsedRow = NonNullable<OperationPlan['dryRun']['run']>['rows'][number]

/** What the dry run did, with the first rows before and after. */
export function dryRunLines({ dryRun: { outcome, reason, run } }: OperationPlan, width?: number): Line[] {
  if (run === null) {
    const told = outcome === 'failed' ? 'The dry run failed' : 'No dry run'
    return [[], ...headLines(`${told}: ${reason ?? ''}`, width)]
  }
  const { rowsMatched, rowsChanged, elapsedMs, walBytes } = run
  const took =
    elapsedMs < 1_000 ? `${elapsedMs < 10 ? elapsedMs : Math.round(elapsedMs)} ms` : formatDuration(elapsedMs)
  const did = `${count(rowsChanged)} of ${plural(rowsMatched, 'row')} changed in ${took}, ${bytes(walBytes)} of log`
  const head = headLines(`Dry run, rolled back: ${did}`, width)
  if (run.rows.length === 0) return [[], ...head]
  const columns = [
    { title: 'key', least: 8 },
    { title: 'before → after', least: 20 },
  ] as const
  const rows = run.rows.map((row): Part[] => [keyText(row.key), becameOf(row)])
  const table = tableLines(columns, rows, width === undefined ? undefined : width - 2)
  return [[], ...head, ...table.map((line): Line => ['  ', ...line])]
}

function becameOf({ outcome, before, after }: RehearsedRow): Part {
  if (outcome === 'unchanged') return ['dim', 'unchanged']
  if (outcome === 'deleted') {
    const values = Object.entries(before).map(([column, value]) => `${column} ${valueText(value)}`)
    return `deleted: ${values.join(', ')}`
  }
  return Object.entries(before)
    .map(([column, value]) => `${column} ${valueText(value)} → ${valueText(after?.[column] ?? null)}`)
    .join(', ')
}

function valueText(value: string | null): string {
  return value === null ? 'null' : value === '' ? "''" : value
}
