import type * as prom from 'prom-client'
import type { Gauges } from './gauges.ts'
import type { Labels } from './labels.ts'

interface GaugeSpec {
  name: string
  help: string
  labelNames: string[]
  values: (gauges: Gauges, labels: Labels) => { labels: Record<string, string>; value: number }[]
}

/** A gauge of operations. Of several with one name the largest value counts. */
const ofOperation = (
  name: string,
  help: string,
  value: (operation: Gauges['operations'][number]) => number | null,
): GaugeSpec => ({
  name,
  help,
  labelNames: ['operation'],
  values: ({ operations }, labels) =>
    operations.flatMap((operation) => {
      const found = value(operation)
      return found === null ? [] : [{ labels: { operation: labels.of('operation', operation.name) }, value: found }]
    }),
})

const ofSignal = (name: string, help: string, key: 'value' | 'soft' | 'hard'): GaugeSpec => ({
  name,
  help,
  labelNames: ['signal', 'table'],
  values: ({ signals }, labels) =>
    signals.map((signal) => ({
      labels: { signal: labels.of('signal', signal.signal), table: labels.of('table', signal.table ?? '') },
      value: signal[key],
    })),
})

const ofQueue = (
  name: string,
  help: string,
  value: (queue: Gauges['depths'][number], gauges: Gauges) => number | undefined,
): GaugeSpec => ({
  name,
  help,
  labelNames: ['queue'],
  values: (gauges, labels) =>
    gauges.depths.flatMap((queue) => {
      const found = value(queue, gauges)
      return found === undefined ? [] : [{ labels: { queue: labels.of('queue', queue.queue) }, value: found }]
    }),
})

const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1_000)

const specs: readonly GaugeSpec[] = [
  ofQueue('sluice_queue_depth', 'Jobs that are due and that nobody has taken', ({ depth }) => depth),
  ofQueue(
    'sluice_queue_oldest_age_seconds',
    'How long the job has waited that waits longest',
    (queue) => (queue.oldest_ms ?? 0) / 1_000,
  ),
  ofQueue('sluice_queue_slope', 'Jobs per minute that a queue grows by, over five minutes', ({ queue }, { slopes }) =>
    slopes.get(queue),
  ),
  ofOperation('sluice_operation_progress', 'Share of the rows that are behind it', ({ progress }) => progress),
  ofOperation('sluice_operation_sub_batch_rows', 'Rows of a sub-batch', ({ size }) => size),
  ofOperation('sluice_operation_sub_batch_target_seconds', 'How long the rows of a sub-batch are to take', (o) =>
    seconds(o.subBatch.targetMs),
  ),
  ofOperation(
    'sluice_operation_pace',
    'Share of the time that lanes work, by a person and the governor',
    ({ pace, share }) => (pace === null ? null : Math.min(pace, share ?? 1)),
  ),
  ofOperation('sluice_operation_lanes', 'Batches at once', ({ lanes }) => lanes),
  ofOperation(
    'sluice_operation_hold_seconds',
    'Time on hold within the last ten minutes',
    ({ heldMs }) => heldMs / 1_000,
  ),
  {
    name: 'sluice_operation_limited',
    help: '1 for the signal that limits an operation',
    labelNames: ['operation', 'signal'],
    values: ({ operations }, labels) =>
      operations.flatMap(({ name, limiter }) =>
        limiter === null
          ? []
          : [{ labels: { operation: labels.of('operation', name), signal: labels.of('signal', limiter) }, value: 1 }],
      ),
  },
  ofSignal('sluice_signal_value', 'Health signals as they are', 'value'),
  ofSignal('sluice_signal_soft_limit', 'From here on work slows down', 'soft'),
  ofSignal('sluice_signal_hard_limit', 'From here on work stops', 'hard'),
  {
    name: 'sluice_alert_firing',
    help: '1 for each alert that fires',
    labelNames: ['rule', 'subject'],
    values: ({ alerts }, labels) =>
      alerts.map(({ rule, subject }) => ({
        labels: { rule, subject: labels.of('subject', subject.split(' ')[0] ?? '') },
        value: 1,
      })),
  },
]

/** Metrics that are read from the database when somebody asks. */
export function gaugeMetrics(
  client: typeof prom,
  register: prom.Registry,
  { labels, read }: { labels: Labels; read: () => Promise<Gauges> },
): { names: string[] } {
  for (const { name, help, labelNames, values } of specs) {
    const config: prom.GaugeConfiguration<string> = {
      name,
      help,
      labelNames,
      registers: [],
      async collect() {
        this.reset()
        const gauges = await read().catch(() => undefined)
        // A database that cannot be asked has no gauges; counters are there all the same.
        if (gauges === undefined) return
        const largest = new Map<string, { labels: Record<string, string>; value: number }>()
        for (const one of values(gauges, labels)) {
          const key = JSON.stringify(one.labels)
          const before = largest.get(key)
          if (before === undefined || one.value > before.value) largest.set(key, one)
        }
        for (const one of largest.values()) this.set(one.labels, one.value)
      },
    }
    register.registerMetric(new client.Gauge(config))
  }
  return { names: specs.map(({ name }) => name) }
}
