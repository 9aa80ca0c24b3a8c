import type { SweepStatus } from '../../index.ts'
import { count } from '../figures.ts'
import { tableLines, type Column } from '../layout.ts'
import type { Line, Part } from '../output.ts'
import { holdText } from './lines.ts'

const columns: readonly Column[] = [
  { title: 'sweep', least: 8 },
  { title: 'table', least: 8, dispensable: 1 },
  { title: 'claimed', align: 'right' },
  { title: 'waiting', align: 'right' },
  { title: 'isolated', align: 'right' },
  { title: 'note', least: 12 },
]

/** Sweeps in a table, one line each. */
export function sweepTable(sweeps: readonly SweepStatus[], width?: number): Line[] {
  return tableLines(
    columns,
    sweeps.map(({ name, table, claimed, waiting, quarantined, held }): Part[] => [
      ['bold', name],
      table,
      count(claimed),
      count(waiting),
      quarantined === 0 ? '0' : ['yellow', count(quarantined)],
      held === null ? '' : ['yellow', holdText(held)],
    ]),
    width,
  )
}
