import { trendOf } from '../alerts/trend.ts'
import type { Alert } from '../alerts/alerts.ts'
import type { OperationSample, QueueSample } from '../samples/samples.ts'
import type { Sluice } from '../../sluice.ts'
import type { QueueDepth, SignalSample } from '../../store/samples.ts'

/** What is read from the database when somebody asks. */
export interface Gauges {
  depths: QueueDepth[]
  /** Jobs per minute that a queue grows by. */
  slopes: Map<string, number>
  /** The last sample of each operation that is not over; with the time on hold within ten minutes. */
  operations: (OperationSample & { heldMs: number })[]
  signals: SignalSample[]
  alerts: Alert[]
}

const freshMs = 5_000
const [lastMs, within] = [60_000, '10m'] as const

/** Reads the gauges; who asks again within a few seconds gets the same. */
export function gaugeReader(sluice: Sluice): () => Promise<Gauges> {
  let read: { atMs: number; gauges: Promise<Gauges> } | undefined
  return () => {
    const nowMs = performance.now()
    if (read === undefined || nowMs - read.atMs > freshMs) read = { atMs: nowMs, gauges: readGauges(sluice) }
    const { gauges } = read
    // What failed is not kept.
    gauges.catch(() => (read = undefined))
    return gauges
  }
}

async function readGauges({ samples, alerts }: Sluice): Promise<Gauges> {
  const [depths, queues, operations, signals, firing] = await Promise.all([
    samples.depths(),
    samples.queues({ within: '5m' }),
    samples.operations({ within, span: '10s' }),
    samples.signals({ within: '1m', span: '10s' }),
    alerts.list(),
  ])
  return {
    depths,
    slopes: slopesOf(queues),
    operations: latestOf(operations),
    signals: [...new Map(signals.map((signal) => [`${signal.signal} ${signal.table ?? ''}`, signal])).values()],
    alerts: firing,
  }
}

function slopesOf(samples: readonly QueueSample[]): Map<string, number> {
  const names = new Set(samples.map(({ queue }) => queue))
  return new Map(
    [...names].flatMap((name): [string, number][] => {
      const own = samples.filter(({ queue }) => queue === name)
      const trend = trendOf(
        own.flatMap(({ at, depth }) => (depth === null ? [] : [{ atMs: at.getTime(), value: depth }])),
      )
      return trend === undefined ? [] : [[name, trend.perMinute]]
    }),
  )
}

function latestOf(samples: readonly OperationSample[]): Gauges['operations'] {
  const newest = Math.max(0, ...samples.map(({ at }) => at.getTime()))
  const latest = new Map(samples.map((sample) => [sample.operationId, sample]))
  return [...latest.values()]
    .filter(({ at, status }) => status !== null && newest - at.getTime() < lastMs)
    .map((sample) => {
      const own = samples.filter(({ operationId }) => operationId === sample.operationId)
      return { ...sample, heldMs: own.reduce((sum, { holdMs }) => sum + holdMs, 0) }
    })
}
