import { pino, type Logger } from 'pino'
import { printable } from '../std/printable.ts'
import type { EventName } from './events.ts'
import { Repeats } from './repeats.ts'
import { describeEvent } from './sentence.ts'
import type { AnyEvent, Telemetry } from './telemetry.ts'

/** Where log lines go and how they look. */
export interface LogOptions {
  stream: NodeJS.WritableStream & { isTTY?: boolean }
  /** `json`: one pino line per event. `text`: a short line for people. Default: text on a terminal, else json. */
  format?: 'json' | 'text'
  /** Also say what happens very often (each sub-batch, each job that goes well). */
  verbose?: boolean
}

/**
 * Writes events as log lines: all of them, but of what repeats itself while the database is away one a minute (see
 * {@link Repeats}). Returns the function that stops it.
 */
export function logEvents(telemetry: Telemetry, options: LogOptions): () => void {
  const format = options.format ?? (options.stream.isTTY === true ? 'text' : 'json')
  const write = format === 'json' ? jsonWriter(options) : textWriter(options.stream)
  const repeats = new Repeats()
  return telemetry.onAny((event) => {
    const level = levels[event.event] ?? 'info'
    const leftOut = repeats.pass(event, performance.now())
    if (leftOut === undefined || (level === 'debug' && options.verbose !== true)) return
    write(event, level, leftOut)
  })
}

type Write = (event: AnyEvent, level: Level, leftOut: number) => void

type Level = 'debug' | 'info' | 'warn' | 'error'

/** Events are worth a line (`info`) unless they are told here. */
const levels: Partial<Record<EventName, Level>> = {
  'sub-batch.committed': 'debug',
  'jobs.enqueued': 'debug',
  'job.started': 'debug',
  'job.finished': 'debug',
  'job.left': 'debug',
  'reconciler.finished': 'debug',
  'reconciler.failed': 'warn',
  'job.retried': 'warn',
  'job.died': 'error',
  'job.quarantined': 'error',
  'job.lost': 'warn',
  'job.rescued': 'warn',
  'inbox.received': 'debug',
  'inbox.duplicate': 'debug',
  'inbox.processed': 'debug',
  'inbox.differed': 'warn',
  'inbox.failed': 'warn',
  'inbox.healed': 'warn',
  'inbox.refused': 'warn',
  'job-batch.opened': 'debug',
  'job-batch.sealed': 'debug',
  'job-batch.mended': 'warn',
  'queue.paused': 'warn',
  'schedule.skipped': 'warn',
  'schedule.failed': 'error',
  'schedule.disabled': 'warn',
  'sweep.claimed': 'debug',
  'sweep.finalised': 'debug',
  'sweep.failed': 'warn',
  'sweep.quarantined': 'error',
  'sweep.rescued': 'warn',
  'sweep.lost': 'warn',
  'sweep.held': 'warn',
  'alert.fired': 'error',
  'worker.untrusted': 'warn',
  'worker.draining': 'warn',
  'operation.held': 'warn',
  'probe.blind': 'warn',
  'operation.failed': 'error',
  'operation.paused': 'warn',
  'operation.disabled': 'warn',
  'operations.disabled': 'warn',
  'batch.quarantined': 'warn',
  'batch.retried': 'warn',
  'batch.lost': 'warn',
  'batch.rescued': 'warn',
  'sub-batch.doubted': 'warn',
  'connection.lost': 'warn',
  'replica.skipped': 'warn',
  warning: 'warn',
}

function jsonWriter(options: LogOptions): Write {
  const logger: Logger = pino({ base: null, level: 'debug', timestamp: pino.stdTimeFunctions.isoTime }, options.stream)
  return ({ event, payload }, level, leftOut) =>
    logger[level]({ event, ...payload, ...(leftOut === 0 ? {} : { leftOut }) })
}

function textWriter(stream: NodeJS.WritableStream): Write {
  return (event, level, leftOut) => {
    const time = new Date().toISOString().slice(11, 23)
    const repeated = leftOut === 0 ? '' : ` (${leftOut} ${leftOut === 1 ? 'line' : 'lines'} about it left out)`
    const mark = level === 'info' || level === 'debug' ? ' ' : level === 'warn' ? '!' : '✗'
    stream.write(`${time} ${mark} ${printable(describeEvent(event))}${repeated}\n`)
  }
}
