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
