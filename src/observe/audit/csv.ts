import type { AuditRow } from '../../store/audit.ts'

const columns = ['id', 'at', 'actor', 'source', 'action', 'target', 'before', 'after', 'reason'] as const

/** The head of an export. */
export const csvHead = columns.join(',')

/** An act as one line of CSV. A spreadsheet must not take a text for a formula, so that such texts get a mark in front. */
export function csvLine(row: AuditRow): string {
  return columns.map((column) => cell(row[column])).join(',')
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const text = value instanceof Date ? value.toISOString() : typeof value === 'string' ? value : JSON.stringify(value)
  return `"${text.replace(/^(?=[=+\-@\t\r])/, "'").replaceAll('"', '""')}"`
}
