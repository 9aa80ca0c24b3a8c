import type { OperationPlan } from '../index.ts'
import { count, plural } from './figures.ts'
import { headLines, labelledLines } from './layout.ts'
import type { Line } from './output.ts'
import { keyText } from './quarantine-lines.ts'

/** What a start would do. */
export function planLines(plan: OperationPlan, width?: number): Line[] {
  const { cursor, from, to, scope, sample } = plan
  return [
    ...headLines(planSentence(plan), width),
    ...labelledLines(
      [
        ['cursor', cursor.join(', ')],
        ['from', from === null ? 'the first row' : `behind ${keyText(from)}`],
        ['to', to === null ? 'nowhere: there is no row' : `${keyText(to)}, included`],
        ['scope', scope ?? 'all rows'],
        ['sample', sampleText(sample)],
      ],
      width,
    ),
  ]
}

function planSentence({ name, table, to, rowsEstimate, batches }: OperationPlan): string {
  if (to === null) return `${name} would walk ${table} and find no row`
  if (rowsEstimate === 0) return `${name} would walk ${table}; PostgreSQL has no estimate of its rows before an ANALYZE`
  return `${name} would walk ${table}: about ${plural(rowsEstimate, 'row')}, at most ${plural(batches, 'batch', 'batches')}`
}

function sampleText({ rows, matched }: OperationPlan['sample']): string {
  if (rows === 0) return 'there is no row to look at'
  return `${count(matched)} of the first ${plural(rows, 'row')} in scope`
}
