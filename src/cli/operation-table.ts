import type { OperationStatus } from '../index.ts'
import { ago, count, percent } from './figures.ts'
import { tableLines, type Column } from './layout.ts'
import type { Line, Part } from './output.ts'
import { statePart } from './state-words.ts'

const columns: readonly Column[] = [
  { title: 'id' },
  { title: 'name', least: 12 },
  { title: 'tenant', least: 6, dispensable: 2 },
  { title: 'state', least: 8 },
  { title: 'done', align: 'right', dispensable: 4 },
  { title: 'changed', align: 'right', dispensable: 3 },
  { title: 'since', align: 'right', dispensable: 1 },
]

/** Operations in a table, one line each. The id is never cut: it is what every other command takes. */
export function operationTable(operations: readonly OperationStatus[], width?: number): Line[] {
  const owned = operations.some(({ tenant }) => tenant !== null)
  const shown = (row: readonly Part[]): readonly Part[] => (owned ? row : row.toSpliced(2, 1))
  const rows = operations.map((status) => shown(rowOf(status)))
  return tableLines(owned ? columns : columns.toSpliced(2, 1), rows, width)
}

function rowOf(status: OperationStatus): Part[] {
  const { id, name, tenant, progress, rowsChanged, asOf } = status
  return [
    id,
    ['bold', name],
    tenant ?? '–',
    statePart(status),
    progress === undefined ? '–' : percent(progress),
    count(rowsChanged),
    ago(asOf.getTime() - turnOf(status).getTime()),
  ]
}

/** When it ended, or else began, or else was recorded. */
function turnOf({ finishedAt, startedAt, createdAt }: OperationStatus): Date {
  return finishedAt ?? startedAt ?? createdAt
}
