import { parseDuration } from '../../std/duration.ts'
import type { NewSchedule, ScheduleRow, TickRow } from '../../store/schedules.ts'
import { defineWindow } from '../../runtime/window.ts'
import { nextTicks, type Calendar } from './calendar.ts'
import type { Overlap, ScheduleDefinition } from './define.ts'
import type { Run } from './settle.ts'

/** A tick and what became of it. */
export interface ScheduleTick {
  schedule: string
  /** When it was due; for a run that a person asked for, when that was. */
  tick: Date
  outcome: 'started' | 'skipped' | 'failed'
  /** Why it was skipped or failed. */
  reason: string | null
  jobId: number | null
  operationId: string | null
  /** Ticks before it that nobody was there for; counted up to a thousand. */
  missed: number
  /** Who asked for it; null: the clock. */
  actor: string | null
  settledAt: Date
}

/** A schedule as a person or a page sees it. */
export interface ScheduleStatus {
  name: string
  /** The cron pattern, or `every 15m`. */
  rule: string
  zone: string
  target: { kind: 'job' | 'operation'; name: string }
  enabled: boolean
  /** Who disabled it, and why. */
  disabledBy: string | null
  reason: string | null
  /** `skip`, `one`, or such as `all 24`. */
  missed: string
  overlap: Overlap
  window: string | null
  /** How long after a tick its run begins. */
  delayMs: number
  deadlineMs: number | null
  /** When the next run is due; null when it is disabled, or never. */
  nextAt: Date | null
  /** The next three runs, that one first. */
  nextRuns: Date[]
  /** No running worker knows it, so nothing comes of it. */
  parked: boolean
  /** The run that stands in the way of the next. */
  blockedBy: (Run & { since: Date | null }) | null
  /** The latest tick that was settled. */
  lastTick: ScheduleTick | null
  createdAt: Date
  /** The database's clock when this was read. */
  asOf: Date
}

/** What the code says about a schedule, as it is stored. */
export function rowOf(definition: ScheduleDefinition): NewSchedule {
  const { name, rule, calendar, target, missed, overlap, delayMs, deadlineMs } = definition
  return {
    name,
    rule,
    zone: calendar.zone,
    target_kind: target.kind,
    target: target.definition.name,
    missed: typeof missed === 'object' ? `all ${missed.all}` : missed,
    overlap,
    delay_ms: delayMs,
    deadline_ms: deadlineMs ?? null,
    run_window: calendar.window?.text ?? null,
  }
}

/** Turns a stored schedule into a status. Where the code is at hand, it knows holidays as well. */
export function statusOf(
  row: ScheduleRow,
  { definition, blocker, last }: { definition?: ScheduleDefinition; blocker?: Run; last?: TickRow },
): ScheduleStatus {
  const nextRuns = nextRunsOf(row, definition)
  return {
    name: row.name,
    rule: row.rule,
    zone: row.zone,
    target: { kind: row.target_kind, name: row.target },
    enabled: row.enabled,
    disabledBy: row.disabled_by,
    reason: row.disabled_reason,
    missed: row.missed,
    overlap: row.overlap,
    window: row.run_window,
    delayMs: row.delay_ms,
    deadlineMs: row.deadline_ms,
    nextAt: nextRuns[0] ?? null,
    nextRuns,
    parked: row.parked,
    blockedBy: blocker === undefined ? null : { ...blocker, since: row.last_started_at },
    lastTick: last === undefined ? null : tickOf(last),
    createdAt: row.created_at,
    asOf: row.now,
  }
}

/** A schedule that no worker has been there for. */
export function unseen(definition: ScheduleDefinition): ScheduleStatus {
  const now = new Date()
  const row: ScheduleRow = {
    ...rowOf(definition),
    enabled: true,
    disabled_by: null,
    disabled_reason: null,
    considered_to: now,
    last_job_id: null,
    last_operation_id: null,
    last_started_at: null,
    created_at: now,
    parked: true,
    now,
  }
  return statusOf(row, { definition })
}

export function tickOf(row: TickRow): ScheduleTick {
  return {
    schedule: row.schedule,
    tick: row.tick,
    outcome: row.outcome,
    reason: row.reason,
    jobId: row.job_id,
    operationId: row.operation_id,
    missed: row.missed,
    actor: row.actor,
    settledAt: row.settled_at,
  }
}

function nextRunsOf(row: ScheduleRow, definition: ScheduleDefinition | undefined): Date[] {
  if (!row.enabled) return []
  const mine = definition?.rule === row.rule && definition.calendar.zone === row.zone
  const ticks = nextTicks(mine ? definition.calendar : calendarOf(row), row.considered_to, 3)
  return ticks.map((tick) => new Date(tick.getTime() + row.delay_ms))
}

function calendarOf({ rule, zone, run_window }: ScheduleRow): Calendar {
  const everyMs = parseDuration(/^every (.*)$/.exec(rule)?.[1])
  return {
    rule: everyMs === undefined ? { cron: rule } : { everyMs },
    zone,
    ...(run_window === null ? {} : { window: defineWindow(run_window) }),
  }
}
