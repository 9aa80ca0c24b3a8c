import type { Measure, Probe } from './probe.ts'
import type { Signal } from './signal.ts'

/** So many polls in a row that could not be read make a reading stale. */
const stalePolls = 3

/** The last value of a probe, and how well it can be read. */
export interface Reading {
  measure: Measure | undefined
  /** When it was read, by the clock of this process; undefined: never. */
  atMs: number | undefined
  /** Polls in a row that gave no value. */
  missed: number
}

export const unread: Reading = { measure: undefined, atMs: undefined, missed: 0 }

/** A reading after a poll that gave a value, or nothing to measure. */
export function read(measure: Measure | undefined, nowMs: number): Reading {
  return { measure, atMs: nowMs, missed: 0 }
}

/** A reading after a poll that gave nothing: the last value stays. */
export function missed(reading: Reading): Reading {
  return { ...reading, missed: reading.missed + 1 }
}

/** What the policy is told of a reading. */
export function signalOf(probe: Probe, { measure, missed: times }: Reading): Signal {
  return { ...probe, value: measure?.value, said: measure?.said, stale: times >= stalePolls }
}

/** A value of a probe with its limits, for the record. */
export interface SignalReading {
  signal: string
  /** Empty: it is about the server. */
  table_name: string
  value: number
  soft: number
  hard: number
}

/** What is older than this says nothing about the present. */
const recentMs = 15_000

/** What probes have said, where that is not too old. */
export function recentReadings(
  sampler: { readonly sighted: readonly Probe[]; reading(probe: Probe, table: string): Reading },
  tables: readonly string[],
  nowMs: number,
): SignalReading[] {
  return sampler.sighted.flatMap((probe) =>
    (probe.per === 'table' ? tables : ['']).flatMap((table) =>
      recentReading(probe, { table, reading: sampler.reading(probe, table), nowMs }),
    ),
  )
}

function recentReading(
  { name: signal, soft, hard }: Probe,
  { table, reading, nowMs }: { table: string; reading: Reading; nowMs: number },
): SignalReading[] {
  const { measure, atMs } = reading
  if (measure === undefined || atMs === undefined || nowMs - atMs > recentMs) return []
  const { value } = measure
  return [value, soft, hard].every(Number.isFinite) ? [{ signal, table_name: table, value, soft, hard }] : []
}
