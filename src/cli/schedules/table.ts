import { formatDuration, type ScheduleStatus } from '../../index.ts'
import { ago, moment } from '../figures.ts'
import { tableLines, type Column } from '../layout.ts'
import type { Line, Part } from '../output.ts'

const columns: readonly Column[] = [
  { title: 'schedule', least: 10 },
  { title: 'when', least: 9 },
  { title: 'starts', least: 12, dispensable: 1 },
  { title: 'next', least: 6 },
  { title: 'last', least: 12, dispensable: 2 },
  { title: 'note', least: 14 },
]

/** Schedules in a table, one line each. */
export function scheduleTable(schedules: readonly ScheduleStatus[], width?: number): Line[] {
  return tableLines(columns, schedules.map(rowOf), width)
}

function rowOf(schedule: ScheduleStatus): Part[] {
  const { name, rule, zone, target, window } = schedule
  const hours = window === null ? '' : `, ${window}`
  return [
    ['bold', name],
    `${rule}${zone === 'UTC' ? '' : ` ${zone}`}${hours}`,
    `${target.kind} ${target.name}`,
    nextText(schedule),
    lastPart(schedule),
    notePart(schedule),
  ]
}

function nextText({ enabled, nextAt, asOf }: ScheduleStatus): string {
  if (!enabled) return '–'
  if (nextAt === null) return 'never'
  const leftMs = nextAt.getTime() - asOf.getTime()
  return leftMs <= 0 ? 'now' : leftMs > 86_400_000 ? moment(nextAt) : `in ${formatDuration(leftMs)}`
}

function lastPart({ lastTick, asOf }: ScheduleStatus): Part {
  if (lastTick === null) return '–'
  const since = `${ago(asOf.getTime() - lastTick.tick.getTime())}${asOf.getTime() - lastTick.tick.getTime() < 1_000 ? '' : ' ago'}`
  const run = lastTick.jobId === null ? lastTick.operationId : lastTick.jobId
  if (lastTick.outcome === 'started') return `${since}: ${lastTick.jobId === null ? 'operation' : 'job'} ${run}`
  return [lastTick.outcome === 'failed' ? 'red' : 'yellow', `${since}: ${lastTick.outcome}`]
}

function notePart({ enabled, disabledBy, reason, blockedBy, parked, lastTick, asOf }: ScheduleStatus): Part {
  if (!enabled) {
    const by = disabledBy === null ? '' : ` by ${disabledBy}`
    return ['yellow', `disabled${by}${reason === null ? '' : `: ${reason}`}`]
  }
  if (blockedBy !== null) {
    const since = blockedBy.since === null ? '' : ` for ${formatDuration(asOf.getTime() - blockedBy.since.getTime())}`
    return ['yellow', `blocked by ${blockedBy.kind} ${blockedBy.id}${since}`]
  }
  if (parked) return ['yellow', 'parked']
  if (lastTick?.outcome === 'failed') return ['red', lastTick.reason ?? '']
  return lastTick?.reason ?? ''
}
