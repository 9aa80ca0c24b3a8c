import type { PaceState } from './pace.ts'
import type { Signal } from './signal.ts'

/** Transactions of others in a second, per core: with fewer nobody is there who would wait for ours, with more many are. */
const few = 12
const many = 150
/** From here on others are there, and from there on the server is theirs: active sessions of others per core. */
const quiet = 0.05
const busy = 0.3
/** A commit takes that many times as long as usual: something is going on, and something serious is. */
const slowCommit = 2
const slowestCommit = 8

const between = (value: number, low: number, high: number): number =>
  Math.min(1, Math.max(0, (value - low) / (high - low)))

/**
 * How busy the database is with the work of others, from 0 to 1. This is not the pace: long before anything has to be
 * slowed down, transactions should be short, because others wait for the end of ours.
 */
export function loadOf(signals: readonly Pick<Signal, 'name' | 'value'>[], smoothed: PaceState['smoothed']): number {
  const last = (name: string): number | undefined => signals.find((signal) => signal.name === name)?.value
  const value = (name: string): number | undefined => smoothed[name]?.value ?? last(name)
  if ((value('lockWaits') ?? 0) > 0) return 1
  // They are counted, while the effort of others is the small difference of two large numbers.
  const others = value('transactions')
  // Who comes is there at once.
  if (others !== undefined) return between(Math.max(others, last('transactions') ?? 0), few, many)
  return Math.max(
    between(value('activeSessions') ?? 0, quiet, busy),
    between(value('commitTime') ?? 0, slowCommit, slowestCommit),
  )
}

const halfLifeMs = 4_000

/** The load rises at once and falls slowly: short transactions cost little, and others who pause for a moment come back. */
export function nextLoad(last: number, now: number, elapsedMs: number): number {
  return Math.max(now, last * 2 ** (-elapsedMs / halfLifeMs))
}
