import { pino, type Logger } from 'pino'
import { printable } from '../std/printable.ts'
import { describeEvent } from './sentence.ts'
import type { AnyEvent, Telemetry } from './telemetry.ts'

/** Where log lines go and how they look. */
export interface LogOptions {
  stream: NodeJS.WritableStream & { isTTY?: boolean }
  /** `json`: one pino line per event. `text`: a short line for people. Default: text on a terminal, else json. */
  format?: 'json' | 'text'
  /** Also say what happens very often (each sub-batch). */
  verbose?: boolean
}

/** Writes every event as a log line. Returns the function that stops it. */
export function logEvents(telemetry: Telemetry, options: LogOptions): () => void {
  const format = options.format ?? (options.stream.isTTY === true ? 'text' : 'json')
  const write = format === 'json' ? jsonWriter(options) : textWriter(options.stream)
  return telemetry.onAny((event) => {
    const level = levelOf(event)
    if (level !== 'debug' || options.verbose === true) write(event, level)
  })
}

type Level = 'debug' | 'info' | 'warn' | 'error'

function levelOf({ event }: AnyEvent): Level {
  switch (event) {
    case 'sub-batch.committed':
      return 'debug'
    case 'operation.failed':
      return 'error'
    case 'worker.untrusted':
    case 'operation.held':
    case 'batch.retried':
    case 'batch.lost':
    case 'batch.rescued':
    case 'sub-batch.doubted':
    case 'connection.lost':
    case 'warning':
      return 'warn'
    default:
      return 'info'
  }
}

function jsonWriter(options: LogOptions): (event: AnyEvent, level: Level) => void {
  const logger: Logger = pino({ base: null, level: 'debug', timestamp: pino.stdTimeFunctions.isoTime }, options.stream)
  return ({ event, payload }, level) => logger[level]({ event, ...payload })
}

function textWriter(stream: NodeJS.WritableStream): (event: AnyEvent, level: Level) => void {
  return (event, level) => {
    const time = new Date().toISOString().slice(11, 23)
    const mark = level === 'info' || level === 'debug' ? ' ' : level === 'warn' ? '!' : '✗'
    stream.write(`${time} ${mark} ${printable(describeEvent(event))}\n`)
  }
}
