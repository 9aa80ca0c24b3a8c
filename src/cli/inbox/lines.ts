import type { InboxMessage, InboxStatus } from '../../index.ts'
import { ago, count } from '../figures.ts'
import { headLines, labelledLines, tableLines, type Column } from '../layout.ts'
import type { Line, Part } from '../output.ts'

const columns: readonly Column[] = [
  { title: 'key', least: 12 },
  { title: 'waits', align: 'right' },
  { title: 'job', align: 'right' },
  { title: 'differing', align: 'right', dispensable: 1 },
]

/** An inbox, and below it the messages that wait longest. */
export function inboxLines(inbox: InboxStatus & { oldest: InboxMessage[] }, now: Date, width?: number): Line[] {
  const { name, waiting, failed, processed, differing, oldest, more } = inbox
  const pairs: [string, Part][] = [
    ['waiting', count(waiting)],
    ['failed', failed === 0 ? '0' : ['red', count(failed)]],
    ['processed', `${count(processed)}${more ? ' or more' : ''}`],
    ['differing', `${count(differing)} payloads came under a key which had come with another one`],
  ]
  const rows = oldest.map(({ key, receivedAt, jobId, differing: others }): Part[] => [
    key ?? '–',
    ago(now.getTime() - receivedAt.getTime()),
    jobId === null ? '–' : String(jobId),
    count(others),
  ])
  return [
    ...headLines(name, width),
    ...labelledLines(pairs, width),
    ...(rows.length === 0 ? [] : tableLines(columns, rows, width)),
  ]
}

/** One message. */
export function messageLines(message: InboxMessage, width?: number): Line[] {
  const { id, key, state, jobId, receivedAt, settledAt, expiresAt, differing, payload } = message
  const pairs: [string, Part][] = [
    ['state', state === 'failed' ? ['red', state] : state],
    ['received', receivedAt.toISOString()],
    ['settled', settledAt?.toISOString() ?? 'not yet'],
    ['job', jobId === null ? 'not known any more' : String(jobId)],
    ['key kept until', expiresAt.toISOString()],
    ['other payloads', count(differing)],
    ['payload', payload === null ? 'not kept any more' : JSON.stringify(payload)],
  ]
  return [
    ...headLines(`message ${id}, ${key ?? 'of a key that is not kept any more'}`, width),
    ...labelledLines(pairs, width),
  ]
}
