import type { QuarantinedSweepRow, SweepStatus } from '../../index.ts'
import { ago, count, moment, plural } from '../figures.ts'
import { oneLine, tableLines } from '../layout.ts'
import type { Line, Part } from '../output.ts'

/** So many are counted; there may be more. */
const mostCounted = 10_000

/** Where a sweep stands, in one sentence. */
export function sweepSentence({
  name,
  table,
  due,
  claimed,
  waiting,
  quarantined,
  held,
}: SweepStatus & { due: number }): string {
  const rows = due >= mostCounted ? `${count(due)} rows or more are due` : plural(due, 'row is due', 'rows are due')
  const parts = [
    rows,
    `${count(claimed)} claimed`,
    `${count(waiting)} to be tried again`,
    `${count(quarantined)} isolated`,
  ]
  const hold = held === null ? '' : `; ${holdText(held)}`
  return `sweep ${name} on ${table}: ${parts.join(', ')}${hold}`
}

/** Why a sweep does nothing, and until when. */
export function holdText({ reason, until }: NonNullable<SweepStatus['held']>): string {
  return until === null ? `held: ${reason}` : `held until ${moment(until)}: ${reason}`
}

/** Isolated rows in a table. */
export function isolatedTable(rows: readonly QuarantinedSweepRow[], now: Date, width?: number): Line[] {
  if (rows.length === 0) return []
  const columns = [
    { title: 'key', least: 12 },
    { title: 'attempts', align: 'right', dispensable: 1 },
    { title: 'since', align: 'right', dispensable: 2 },
    { title: 'error', least: 20 },
  ] as const
  const cells = rows.map(({ key, attempts, at, error }): Part[] => [
    key.join(', '),
    count(attempts),
    ago(now.getTime() - at.getTime()),
    ['yellow', oneLine(error === null ? '–' : `${error.name}: ${error.message}`)],
  ])
  return tableLines(columns, cells, width === undefined ? undefined : width - 2).map((line): Line => ['  ', ...line])
}
