import { formatDuration, type OperationPlan } from '../index.ts'
import { bytes, count, percent, plural } from './figures.ts'
import { headLines, labelledLines } from './layout.ts'
import type { Line } from './output.ts'
import { dryRunLines } from './plan-dry-run.ts'
import { planFindingLines } from './plan-findings.ts'
import { keyText } from './quarantine-lines.ts'

/** What a start would do: one sentence, the numbers, the dry run, and what to think about first. */
export function planLines(plan: OperationPlan, width?: number): Line[] {
  const { walk, cursor, from, to, scope, statements } = plan
  return [
    ...headLines(planSentence(plan), width),
    ...labelledLines(
      [
        ['walk', walk.says],
        ['because', walk.why],
        ['cursor', cursor.join(', ')],
        ['from', from === null ? 'the first row' : `after ${keyText(from)}`],
        ['to', to === null ? 'nowhere: there is no row' : `${keyText(to)}, included`],
        ['scope', scope ?? 'all rows'],
        ...numbers(plan),
        ...statements.map(({ statement, found }) => [statement, found] as const),
      ],
      width,
    ),
    ...dryRunLines(plan, width),
    ...planFindingLines(plan.findings, width),
  ]
}

function planSentence({ name, table, to, estimate: { rowsToSee, batches } }: OperationPlan): string {
  if (to === null) return `${name} would walk ${table} and find no row`
  return `${name} would walk ${table}: about ${plural(rowsToSee, 'row')}, ${plural(batches, 'batch', 'batches')}`
}

function numbers({ to, estimate }: OperationPlan): (readonly [string, string])[] {
  if (to === null) return []
  const { tableBytes, bytesToChange, walBytes, durationMs } = estimate
  return [
    ['in scope', inScope(estimate)],
    ['on disk', `${bytes(tableBytes)}, about ${bytes(bytesToChange)} of it in scope`],
    ...(walBytes === null ? [] : ([['log', `about ${bytes(walBytes)}`]] as const)),
    ...(durationMs === null ? [] : ([['time', timeText(durationMs)]] as const)),
  ]
}

function inScope({ rowsToSee, rowsToChange, by, sampled }: OperationPlan['estimate']): string {
  const { windows, rows, matched } = sampled
  if (windows === 0) return 'not known: it took too long to look'
  const looked = `${count(matched)} of ${plural(rows, 'row')} in ${plural(windows, 'place')} along the key`
  if (by === 'planner') return `${looked}; PostgreSQL expects about ${count(rowsToChange)}`
  const share = rowsToSee === 0 ? 0 : rowsToChange / rowsToSee
  return `about ${plural(rowsToChange, 'row')} (${percent(Math.min(1, share))}), by ${looked}`
}

function timeText({ from, to }: { from: number; to: number }): string {
  const [least, most] = [formatDuration(Math.max(1_000, from)), formatDuration(Math.max(1_000, to))]
  return least === most ? `about ${most} at full pace` : `${least} to ${most} at full pace`
}
