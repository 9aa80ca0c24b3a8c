import { formatDuration, type JobStatus } from '../../index.ts'
import { ago } from '../figures.ts'
import { tableLines, type Column } from '../layout.ts'
import type { Line, Part } from '../output.ts'
import { isOver, statePart } from './states.ts'

const columns: readonly Column[] = [
  { title: 'id', align: 'right' },
  { title: 'name', least: 12 },
  { title: 'queue', least: 6, dispensable: 1 },
  { title: 'state' },
  { title: 'attempt', align: 'right', dispensable: 2 },
  { title: 'since', align: 'right' },
  { title: 'note', least: 12, dispensable: 3 },
]

/** Jobs in a table, one line each. The id is never cut: it is what every other command takes. */
export function jobTable(jobs: readonly JobStatus[], now: Date, width?: number): Line[] {
  return tableLines(
    columns,
    jobs.map((job) => rowOf(job, now)),
    width,
  )
}

function rowOf(job: JobStatus, now: Date): Part[] {
  const { id, name, queue, attempt, enqueuedAt, finishedAt } = job
  return [
    String(id),
    ['bold', name],
    queue,
    statePart({ ...job, parked: false }),
    String(attempt),
    ago(now.getTime() - (finishedAt ?? enqueuedAt).getTime()),
    noteOf(job, now),
  ]
}

/** What one would ask next: why it does not run, when it will, or why it ended so. */
function noteOf(job: JobStatus, now: Date): Part {
  const { state, parked, runAt, key, crashes, runMs } = job
  if (state === 'succeeded') return runMs === null ? '' : `ran ${formatDuration(runMs)}`
  if (isOver(job)) return endText(job)
  if (state === 'running') return crashes > 0 ? ['yellow', `crashed ${crashes} times`] : ''
  if (parked) return ['yellow', 'parked']
  if (state === 'blocked') return `behind ${key ?? 'its key'}`
  if (state === 'scheduled' && runAt !== null) return dueText(runAt.getTime() - now.getTime())
  return crashes > 0 ? ['yellow', `crashed ${crashes} times`] : ''
}

/** The first line of a message says most; that the job is dead is said already. */
function endText({ state, reason, error }: JobStatus): string {
  const [message = ''] = (error?.message ?? '').split('\n')
  if (state === 'dead' && error !== null) return `${error.name}: ${message}`
  return [reason ?? '', message].filter((text) => text !== '').join(': ')
}

function dueText(ms: number): string {
  return ms <= 0 ? 'due' : `in ${formatDuration(ms)}`
}
