import type * as otel from '@opentelemetry/api'
import type { Sluice } from '../../sluice.ts'
import type { EventName, Events } from '../../telemetry/events.ts'
import { version } from '../../version.ts'
import { gaugeReader, type Gauges } from './gauges.ts'
import { Labels } from './labels.ts'
import { loadOptional } from './optional.ts'

/** Where spans and metrics go. */
export interface OpenTelemetryOptions {
  /** Default: the providers that your application has registered. */
  tracerProvider?: otel.TracerProvider
  meterProvider?: otel.MeterProvider
}

const system = { 'messaging.system': 'sluice' }
/** Spans that are never heard of again are forgotten: those of jobs that another worker has taken over. */
const mostOpen = 10_000

/**
 * Spans and metrics by OpenTelemetry, through the providers of your application. Needs the package
 * `@opentelemetry/api`. Returns the function that ends it.
 *
 * @example
 * ```ts
 * import { Sluice } from 'sluice'
 * import { openTelemetry } from 'sluice/metrics'
 *
 * const sluice = new Sluice()
 * const stop = openTelemetry(sluice)
 * ```
 */
export function openTelemetry(sluice: Sluice, options: OpenTelemetryOptions = {}): () => void {
  const api = loadOptional('@opentelemetry/api') as typeof otel
  const tracer = (options.tracerProvider ?? api.trace).getTracer('sluice', version)
  const meter = (options.meterProvider ?? api.metrics).getMeter('sluice', version)
  const labels = new Labels()
  const stopGauges = observeGauges(meter, labels, gaugeReader(sluice))
  const traced = spans(api, tracer, labels)
  const counts = counters(meter, labels)
  const stopEvents = sluice.onAny(({ event, payload }) => {
    for (const followed of [traced, counts]) (followed[event] as ((p: unknown) => void) | undefined)?.(payload)
  })
  sluice.jobs.trace = () => traceparentOf(api)
  return () => {
    sluice.jobs.trace = () => undefined
    stopEvents()
    stopGauges()
  }
}

/** The context of the active span, as the W3C writes it; undefined: there is none that could be linked to. */
function traceparentOf(api: typeof otel): string | undefined {
  const context = api.trace.getActiveSpan()?.spanContext()
  if (context === undefined || !api.isSpanContextValid(context)) return undefined
  return `00-${context.traceId}-${context.spanId}-${context.traceFlags.toString(16).padStart(2, '0')}`
}

/** The link to the span that a job was enqueued in. What was written by somebody else may be anything. */
function linksTo(api: typeof otel, trace: string | undefined): { links?: otel.Link[] } {
  const [, traceId = '', spanId = '', flags = ''] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(trace ?? '') ?? []
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return api.isSpanContextValid(context) ? { links: [{ context }] } : {}
}

type Followers = { readonly [N in EventName]?: (payload: Events[N]) => void }

interface OfJob {
  jobId: number
  name: string
}

/** One span for enqueueing, and one for each attempt, from its start to its end. */
function spans(api: typeof otel, tracer: otel.Tracer, labels: Labels): Followers {
  const open = new Map<number, otel.Span>()
  const end =
    (outcome: string) =>
    (payload: OfJob & { error?: { name: string; message: string } | null }): void => {
      const span = open.get(payload.jobId)
      open.delete(payload.jobId)
      if (span === undefined) return
      span.setAttribute('sluice.outcome', outcome)
      if (payload.error) {
        // The class alone: messages may hold what is not for everybody.
        span.setAttribute('error.type', payload.error.name)
        span.setStatus({ code: api.SpanStatusCode.ERROR })
      }
      span.end()
    }
  return {
    'jobs.enqueued': ({ name, queue, count }) => {
      if (count === 0) return
      const attributes = { ...about('send', labels.of('queue', queue), name), 'messaging.batch.message_count': count }
      tracer.startSpan(`send ${labels.of('queue', queue)}`, { kind: api.SpanKind.PRODUCER, attributes }).end()
    },
    'job.started': ({ jobId, name, queue, attempt, trace }) => {
      if (open.size >= mostOpen) open.delete(open.keys().next().value ?? 0)
      const attributes = {
        ...about('process', labels.of('queue', queue), name),
        'messaging.message.id': String(jobId),
        'sluice.attempt': attempt,
      }
      const options = { kind: api.SpanKind.CONSUMER, attributes, ...linksTo(api, trace) }
      open.set(jobId, tracer.startSpan(`process ${labels.of('queue', queue)}`, options))
    },
    'job.finished': end('succeeded'),
    'job.retried': end('retried'),
    'job.snoozed': end('snoozed'),
    'job.died': end('dead'),
    'job.discarded': end('discarded'),
    'job.cancelled': end('cancelled'),
    'job.quarantined': end('quarantined'),
    'job.released': end('released'),
    'job.lost': end('lost'),
  }
}

function about(operation: 'send' | 'process', queue: string, job: string): otel.Attributes {
  return {
    ...system,
    'messaging.operation.type': operation,
    'messaging.operation.name': operation,
    'messaging.destination.name': queue,
    'sluice.job': job,
  }
}

function counters(meter: otel.Meter, labels: Labels): Followers {
  const sent = meter.createCounter('messaging.client.sent.messages', { unit: '{message}' })
  const consumed = meter.createCounter('messaging.client.consumed.messages', { unit: '{message}' })
  const duration = meter.createHistogram('messaging.process.duration', { unit: 's' })
  const rows = meter.createCounter('sluice.operation.rows', { unit: '{row}' })
  const batchDuration = meter.createHistogram('sluice.batch.duration', { unit: 's' })
  const batchSize = meter.createHistogram('sluice.batch.size', { unit: '{row}' })
  const failed = meter.createCounter('sluice.operation.failures', { unit: '{operation}' })
  const throttled = meter.createHistogram('sluice.throttle.wait', { unit: 's' })
  const ofJob = (queue: string, job: string): otel.Attributes => ({
    ...system,
    'messaging.destination.name': labels.of('queue', queue),
    'sluice.job': labels.of('job', job),
  })
  const ofOperation = (name: string): otel.Attributes => ({ 'sluice.operation': labels.of('operation', name) })
  return {
    'jobs.enqueued': ({ queue, name, count }) => sent.add(count, ofJob(queue, name)),
    'job.started': ({ queue, name }) => consumed.add(1, ofJob(queue, name)),
    'job.finished': ({ queue, name, runMs }) => duration.record(runMs / 1_000, ofJob(queue, name)),
    'sub-batch.committed': ({ name, rowsChanged, rowsSeen, elapsedMs }) => {
      rows.add(rowsChanged, ofOperation(name))
      batchDuration.record(elapsedMs / 1_000, ofOperation(name))
      batchSize.record(rowsSeen, ofOperation(name))
    },
    'operation.failed': ({ name }) => failed.add(1, ofOperation(name)),
    'operation.held': ({ name, until }) =>
      throttled.record(Math.max(0, until.getTime() - Date.now()) / 1_000, ofOperation(name)),
  }
}

/** Read when they are collected. The state of a signal: 0 is well, 1 slows work down, 2 stops it. */
function observeGauges(meter: otel.Meter, labels: Labels, read: () => Promise<Gauges>): () => void {
  const depth = meter.createObservableGauge('sluice.queue.depth', { unit: '{message}' })
  const oldest = meter.createObservableGauge('sluice.queue.oldest_age', { unit: 's' })
  const state = meter.createObservableGauge('sluice.health.state')
  const all = [depth, oldest, state]
  const observe: otel.BatchObservableCallback = async (result) => {
    const gauges = await read().catch(() => undefined)
    for (const queue of gauges?.depths ?? []) {
      const attributes = { 'messaging.destination.name': labels.of('queue', queue.queue) }
      result.observe(depth, queue.depth, attributes)
      result.observe(oldest, (queue.oldest_ms ?? 0) / 1_000, attributes)
    }
    for (const { signal, value, soft, hard } of gauges?.signals ?? []) {
      const beyond = (limit: number): boolean => (soft <= hard ? value >= limit : value <= limit)
      const attributes = { 'sluice.signal': labels.of('signal', signal) }
      result.observe(state, beyond(hard) ? 2 : beyond(soft) ? 1 : 0, attributes)
    }
  }
  meter.addBatchObservableCallback(observe, all)
  return () => meter.removeBatchObservableCallback(observe, all)
}
