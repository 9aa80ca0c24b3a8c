import type { QueueStatus } from '../../index.ts'
import { ago, count } from '../figures.ts'
import { tableLines, type Column } from '../layout.ts'
import type { Line, Part } from '../output.ts'
import { rateText } from './rate.ts'

const columns: readonly Column[] = [
  { title: 'queue', least: 8 },
  { title: 'waiting', align: 'right' },
  { title: 'scheduled', align: 'right', dispensable: 1 },
  { title: 'blocked', align: 'right', dispensable: 1 },
  { title: 'running', align: 'right' },
  { title: 'parked', align: 'right' },
  { title: 'oldest', align: 'right' },
  { title: 'note', least: 12 },
]

/** Queues in a table, one line each. What is so of none of them has no column. */
export function queueTable(queues: readonly QueueStatus[], width?: number): Line[] {
  const idle = new Set([
    ...(queues.some(({ parked }) => parked > 0) ? [] : ['parked']),
    ...(queues.some(({ paused, rate }) => paused || rate !== null) ? [] : ['note']),
  ])
  const kept = <T>(cells: readonly T[]): T[] => cells.filter((_, at) => !idle.has(columns[at]?.title ?? ''))
  return tableLines(
    kept(columns),
    queues.map((queue) => kept(rowOf(queue))),
    width,
  )
}

function rowOf(queue: QueueStatus): Part[] {
  const { name, waiting, scheduled, blocked, running, parked, estimated, oldestMs } = queue
  const about = (n: number): string => (estimated && n > 0 ? `~${count(n)}` : count(n))
  return [
    ['bold', name],
    about(waiting),
    about(scheduled),
    about(blocked),
    count(running),
    parked === 0 ? '0' : ['yellow', about(parked)],
    oldestMs === null ? '–' : ago(oldestMs),
    notePart(queue),
  ]
}

function notePart({ paused, pausedBy, rate }: QueueStatus): Part {
  const stop = paused ? [`paused${pausedBy === null ? '' : ` by ${pausedBy}`}`] : []
  const text = [...stop, ...(rate === null ? [] : [`at most ${rateText(rate)}`])].join(', ')
  return paused ? ['yellow', text] : text
}
