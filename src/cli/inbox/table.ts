import type { InboxStatus } from '../../index.ts'
import { ago, count } from '../figures.ts'
import { tableLines, type Column } from '../layout.ts'
import type { Line, Part } from '../output.ts'

const columns: readonly Column[] = [
  { title: 'inbox', least: 8 },
  { title: 'waiting', align: 'right' },
  { title: 'failed', align: 'right' },
  { title: 'processed', align: 'right' },
  { title: 'differing', align: 'right', dispensable: 1 },
  { title: 'oldest', align: 'right' },
]

/** Inboxes in a table, one line each. */
export function inboxTable(inboxes: readonly InboxStatus[], width?: number): Line[] {
  return tableLines(columns, inboxes.map(rowOf), width)
}

function rowOf({ name, waiting, failed, processed, differing, oldestMs, more }: InboxStatus): Part[] {
  return [
    ['bold', name],
    count(waiting),
    failed === 0 ? '0' : ['red', count(failed)],
    `${count(processed)}${more ? '+' : ''}`,
    differing === 0 ? '0' : ['yellow', count(differing)],
    oldestMs === null ? '–' : ago(oldestMs),
  ]
}
