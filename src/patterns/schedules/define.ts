import { createHash } from 'node:crypto'
import { storeArgs } from '../../args.ts'
import { SluiceError } from '../../errors.ts'
import type { JobDefinition } from '../../jobs/definition.ts'
import type { OperationDefinition } from '../../operations/definition.ts'
import type { Registry } from '../../runtime/registry.ts'
import { parseDuration, type Duration } from '../../std/duration.ts'
import { quoted } from '../../std/storable.ts'
import { didYouMean } from '../../std/suggest.ts'
import { isZone } from '../../std/zone.ts'
import { defineWindow, type WindowSpec } from '../../runtime/window.ts'
import { nextTick, type Calendar, type ClockChange } from './calendar.ts'

/** What becomes of ticks that nobody was there for: nothing, one run for all of them, or the last so many. */
export type Missed = 'skip' | 'one' | { all: number }

/** What becomes of a tick while the run before it has not ended: nothing, it waits, or it runs beside it. */
export type Overlap = 'skip' | 'queue' | 'allow'

interface CommonSpec {
  /** Unique among the schedules of an application; ticks are stored under it, so keep it when you rename code. */
  name: string
  /** Whose clocks a cron pattern is about, such as `'Europe/Berlin'`. Default: UTC. */
  zone?: string
  /** What becomes of times of day that clocks leave out, or show twice. Default: each runs once. */
  clockChange?: ClockChange
  /** Default: `'one'`. */
  missed?: Missed
  /** Default: `'skip'`; with `missed: { all }` it is `'queue'`. */
  overlap?: Overlap
  /** Runs begin up to so much after the tick: always the same time for one schedule, another for the next. */
  jitter?: Duration
  /** A run that began longer ago than this blocks no more. Default: it blocks until it has ended. */
  deadline?: Duration
  /** Ticks outside of these hours are none. */
  window?: WindowSpec
}

/** When it is due: by a cron pattern of five fields (six with seconds), or evenly, counted from midnight UTC of 1970. */
type Rhythm = { cron: string; every?: never } | { every: Duration; cron?: never }

type Given<Input> = Input | ((tick: Date) => Input)

/** Args may be left out where the definition takes none. A function makes them of the tick. */
type GivenArgs<Input> = undefined extends Input ? { args?: Given<Input> } : { args: Given<Input> }

/** How a schedule that enqueues a job is declared; see {@link defineSchedule}. */
export type JobScheduleSpec<Input> = CommonSpec &
  Rhythm & { job: JobDefinition<Input>; operation?: never } & GivenArgs<NoInfer<Input>>

/** How a schedule that starts an operation is declared; see {@link defineSchedule}. */
export type OperationScheduleSpec<Input> = CommonSpec &
  Rhythm & { operation: OperationDefinition<Input>; job?: never } & GivenArgs<NoInfer<Input>>

/** What a tick starts. */
export type ScheduleTarget =
  | { readonly kind: 'job'; readonly definition: JobDefinition }
  | { readonly kind: 'operation'; readonly definition: OperationDefinition }

/** A defined schedule. */
export interface ScheduleDefinition {
  readonly name: string
  /** The cron pattern, or `every 15m`. */
  readonly rule: string
  readonly calendar: Calendar
  readonly target: ScheduleTarget
  readonly missed: Missed
  readonly overlap: Overlap
  /** How long after its ticks its runs begin. */
  readonly delayMs: number
  readonly deadlineMs: number | undefined
  readonly argsAt: (tick: Date) => unknown
}

/** The schedules that a process knows. */
export type ScheduleRegistry = Registry<ScheduleDefinition>

/**
 * Defines a schedule: a job or an operation that starts when a clock says so, once per tick, whoever of the workers
 * is there. List it under `schedules` in the configuration.
 *
 * @example
 * ```ts
 * import { defineJob, defineSchedule } from 'sluice'
 *
 * const sendDigest = defineJob({ name: 'send-digest', perform: () => console.log('good morning') })
 *
 * export const dailyDigest = defineSchedule({
 *   name: 'daily-digest',
 *   cron: '0 7 * * mon-fri',
 *   zone: 'Europe/Berlin',
 *   job: sendDigest,
 * })
 * ```
 */
export function defineSchedule<Input>(spec: JobScheduleSpec<Input>): ScheduleDefinition
export function defineSchedule<Input>(spec: OperationScheduleSpec<Input>): ScheduleDefinition
export function defineSchedule(spec: AnySpec): ScheduleDefinition {
  const refuse = refusal(spec)
  checkSpec(spec, refuse)
  const { name, job, operation, missed = 'one' } = spec
  const calendar = calendarOf(spec, refuse)
  const target: ScheduleTarget =
    job === undefined
      ? { kind: 'operation', definition: operation as OperationDefinition }
      : { kind: 'job', definition: job }
  const argsAt = (tick: Date): unknown => (typeof spec.args === 'function' ? spec.args(tick) : spec.args)
  if (typeof spec.args !== 'function') storeArgs(target.definition.name, spec.args)
  const jitterMs = parseDuration(spec.jitter ?? 0) ?? 0
  return {
    name,
    rule: spec.cron?.trim() ?? `every ${String(spec.every)}`,
    calendar,
    target,
    missed,
    overlap: spec.overlap ?? (typeof missed === 'object' ? 'queue' : 'skip'),
    delayMs: delayOf(name, jitterMs),
    deadlineMs: spec.deadline === undefined ? undefined : parseDuration(spec.deadline),
    argsAt,
  }
}

interface AnySpec extends CommonSpec {
  cron?: string
  every?: Duration
  job?: JobDefinition
  operation?: OperationDefinition
  args?: unknown
}

type Refuse = (problem: string) => never

/** The same part of the jitter for a name, in every process and after every restart. */
function delayOf(name: string, jitterMs: number): number {
  const share = createHash('sha256').update(name).digest().readUInt32BE(0) / 2 ** 32
  return Math.floor(share * jitterMs)
}

function calendarOf({ cron, every, zone = 'UTC', window, clockChange }: AnySpec, refuse: Refuse): Calendar {
  const everyMs = every === undefined ? undefined : (parseDuration(every) ?? 0)
  const calendar: Calendar = {
    rule: everyMs === undefined ? { cron: cron?.trim() ?? '' } : { everyMs },
    zone,
    ...(window === undefined ? {} : { window: defineWindow(window) }),
    ...(clockChange === undefined ? {} : { clockChange }),
  }
  if (everyMs !== undefined && !(Number.isSafeInteger(everyMs) && everyMs >= 1_000 && everyMs <= longestMs)) {
    refuse('"every" must be a time such as "15m", from a second to a year')
  }
  // Any moment will do: a pattern that fires at all does so within some years of it.
  let first: Date | undefined
  try {
    first = nextTick(calendar, new Date('2020-01-01'))
  } catch (error) {
    refuse(`"cron" cannot be read: ${error instanceof Error ? error.message.replace(/^CronPattern: /, '') : 'unknown'}`)
  }
  if (first === undefined) refuse(`it would never fire: ${neverWhy(cron, window)}`)
  return calendar
}

function neverWhy(cron: string | undefined, window: WindowSpec | undefined): string {
  return window === undefined ? `no date fits ${quoted(cron)}` : 'no tick of it is inside of its window'
}

const longestMs = 366 * 86_400_000

const options = [
  'name',
  'cron',
  'every',
  'zone',
  'clockChange',
  'job',
  'operation',
  'args',
  'missed',
  'overlap',
  'jitter',
  'deadline',
  'window',
]

function refusal(spec: AnySpec): Refuse {
  const name = typeof spec.name === 'string' ? spec.name : ''
  return (problem) => {
    throw new SluiceError('DEFINITION_INVALID', {
      message: `The schedule ${quoted(name)} cannot be defined: ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
      details: { name, problem },
    })
  }
}

function checkSpec(spec: AnySpec, refuse: Refuse): void {
  if (!/^[A-Za-z][A-Za-z0-9._-]{0,99}$/.test(typeof spec.name === 'string' ? spec.name : '')) {
    refuse('its name must start with a letter and have up to 100 letters, digits, ".", "_" or "-"')
  }
  for (const key of Object.keys(spec)) {
    if (!options.includes(key)) refuse(`there is no option "${key}".${didYouMean(key, options)}`)
  }
  if ((spec.cron === undefined) === (spec.every === undefined)) refuse('give "cron" or "every"')
  if (spec.cron !== undefined && !(typeof spec.cron === 'string' && cronText.test(spec.cron.trim()))) {
    refuse(
      '"cron" must have five fields, as in "0 * * * *", six with seconds in front, or be a name such as "@daily"; there is no field for years',
    )
  }
  if (spec.every !== undefined && spec.zone !== undefined) refuse('"every" knows no zone; use "cron" for times of day')
  if (spec.zone !== undefined && !isZone(spec.zone)) {
    refuse(`${quoted(spec.zone)} is not a time zone; names are as in "Europe/Berlin"`)
  }
  checkClockChange(spec, refuse)
  if ((spec.job === undefined) === (spec.operation === undefined)) refuse('give "job" or "operation"')
  if (typeof (spec.job ?? spec.operation)?.bind !== 'function') {
    refuse('"job" must come from defineJob, "operation" from defineOperation or a preset')
  }
  checkPolicies(spec, refuse)
}

/** Five or six fields, or a name for some; what the fields may hold is for the parser to say. */
const cronText = /^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|\S+(\s+\S+){4,5})$/i

const clockChanges: Record<string, readonly unknown[]> = {
  leftOut: ['run', 'skip'],
  repeated: ['first', 'second', 'both'],
}

function checkClockChange({ every, clockChange }: AnySpec, refuse: Refuse): void {
  if (clockChange === undefined) return
  if (every !== undefined) refuse('"every" knows no clocks; use "cron" for times of day')
  if (typeof clockChange !== 'object' || clockChange === null)
    refuse('"clockChange" must be such as { leftOut: "skip" }')
  for (const [key, value] of Object.entries(clockChange)) {
    const words = clockChanges[key]
    if (words === undefined) {
      refuse(`there is no option "clockChange.${key}".${didYouMean(key, Object.keys(clockChanges))}`)
    } else if (!words.includes(value)) refuse(`"clockChange.${key}" must be ${words.join(' or ')}`)
  }
}

function checkPolicies({ missed = 'one', overlap, jitter, deadline }: AnySpec, refuse: Refuse): void {
  const all = typeof missed === 'object' && missed !== null ? missed.all : undefined
  if (all === undefined && missed !== 'skip' && missed !== 'one') {
    refuse('"missed" must be "skip", "one", or such as { all: 24 }')
  }
  if (all !== undefined && !(Number.isSafeInteger(all) && all >= 1 && all <= 1_000)) {
    refuse('"missed.all" must be a whole number from 1 to 1,000')
  }
  if (overlap !== undefined && !['skip', 'queue', 'allow'].includes(overlap)) {
    refuse('"overlap" must be skip, queue or allow')
  }
  if (all !== undefined && overlap === 'skip') {
    refuse('"missed" wants several runs in a row, and "overlap" skips all but the first; use queue or allow')
  }
  if (missed === 'skip' && overlap === 'queue') {
    refuse('a tick that waits for the run before it is late, and "missed" skips what is late; use missed "one"')
  }
  for (const [option, value] of Object.entries({ jitter, deadline })) {
    const ms = value === undefined ? 1 : parseDuration(value)
    if (ms === undefined || ms < 1 || ms > longestMs) refuse(`"${option}" must be a time such as "30s" or "5m"`)
  }
}
