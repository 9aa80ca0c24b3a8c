import { formatDuration, type ReconcilerStatus } from '../../index.ts'
import { ago, count } from '../figures.ts'
import { tableLines, type Column } from '../layout.ts'
import type { Line, Part } from '../output.ts'

const columns: readonly Column[] = [
  { title: 'reconciler', least: 12 },
  { title: 'every', align: 'right' },
  { title: 'last run', align: 'right' },
  { title: 'found', align: 'right' },
  { title: 'enqueued', align: 'right' },
  { title: 'note', least: 12 },
]

/** Reconcilers in a table, one line each. */
export function reconcilerTable(
  reconcilers: readonly ReconcilerStatus[],
  { now, width }: { now: Date; width: number | undefined },
): Line[] {
  const rows = reconcilers.map((one): Part[] => [
    ['bold', one.name],
    one.everyMs === null ? '–' : formatDuration(one.everyMs).replace('.0 ', ' '),
    one.startedAt === null ? 'never' : ago(now.getTime() - one.startedAt.getTime()),
    count(one.found),
    count(one.enqueued),
    noteOf(one),
  ])
  return tableLines(columns, rows, width)
}

function noteOf({ running, error, everyMs, startedAt, finishedAt }: ReconcilerStatus): Part {
  if (error !== null) return ['red', error.message]
  if (running) return ['green', 'runs now']
  if (startedAt !== null && finishedAt === null) return ['yellow', 'broke off; the next run finds the rest']
  return everyMs === null ? 'not in this configuration' : ''
}
