import type { MachineStatus } from '../../index.ts'
import { count } from '../figures.ts'
import { tableLines, type Column } from '../layout.ts'
import type { Line, Part } from '../output.ts'

const columns: readonly Column[] = [{ title: 'state' }, { title: 'rows', align: 'right' }, { title: 'to', least: 12 }]

/** No state is counted beyond this, where an index is used. */
const most = 10_000

/** The states of a machine with their rows, one line each. */
export function stateTable({ states, unknown, counted }: MachineStatus, width?: number): Line[] {
  const rowsText = (rows: number): string => {
    if (counted === 'estimate') return `about ${count(rows)}`
    return counted === 'bounded' && rows >= most ? `${count(most)} or more` : count(rows)
  }
  const known = states.map(({ state, rows, to }): Part[] => [
    ['bold', state],
    rowsText(rows),
    to.length === 0 ? 'final' : to.join(', '),
  ])
  const strange = unknown.map(({ state, rows }): Part[] => [['yellow', state], rowsText(rows), ['yellow', 'not known']])
  return tableLines(columns, [...known, ...strange], width)
}
