import type { AuditRow, Json } from '../../index.ts'
import { moment } from '../figures.ts'
import { tableLines, type Column } from '../layout.ts'
import type { Line, Part } from '../output.ts'

const columns: readonly Column[] = [
  { title: 'id', align: 'right', dispensable: 1 },
  { title: 'when' },
  { title: 'who', least: 6 },
  { title: 'from', dispensable: 3 },
  { title: 'action', least: 10 },
  { title: 'what', least: 12 },
  { title: 'change', least: 16 },
  { title: 'reason', least: 8, dispensable: 2 },
]

/** Acts in a table, one line each. */
export function auditTable(acts: readonly AuditRow[], width?: number): Line[] {
  return tableLines(columns, acts.map(rowOf), width)
}

function rowOf({ id, at, actor, source, action, target, before, after, reason }: AuditRow): Part[] {
  return [
    String(id),
    moment(at),
    actor ?? '–',
    source,
    ['bold', action],
    target,
    changeText(before, after),
    reason ?? '',
  ]
}

/** What was and what is: `active → paused`. */
function changeText(before: Json | null, after: Json | null): string {
  if (before === null) return after === null ? '' : short(after)
  return after === null ? short(before) : `${short(before)} → ${short(after)}`
}

function short(value: Json): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value)
  const entries = Object.entries(value)
  const [first] = entries
  if (entries.length === 1 && first !== undefined && typeof first[1] === 'string') return first[1]
  return entries.map(([key, one]) => `${key} ${typeof one === 'string' ? one : JSON.stringify(one)}`).join(', ')
}
