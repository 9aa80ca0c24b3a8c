import type { Signal } from './signal.ts'

/** From here on others are there, and from there on the server is theirs: active sessions of others per core. */
const quiet = 0.05
const busy = 0.3
/** Fewer transactions of others in a second, and nobody is there who would wait for ours; more, and many are. */
const few = 25
const many = 100
/** A commit takes that many times as long as usual: something is going on, and something serious is. */
const slowCommit = 2
const slowestCommit = 8

const between = (value: number, low: number, high: number): number =>
  Math.min(1, Math.max(0, (value - low) / (high - low)))

/**
 * How busy the database is with the work of others, from 0 to 1. This is not the pace: long before anything has to be
 * slowed down, transactions should be short, because others wait for the end of ours.
 */
export function loadOf(signals: readonly Pick<Signal, 'name' | 'value'>[]): number {
  const value = (name: string, unknown = 0): number => signals.find((signal) => signal.name === name)?.value ?? unknown
  if (value('lockWaits') > 0) return 1
  const effort = Math.max(
    between(value('activeSessions'), quiet, busy),
    between(value('commitTime'), slowCommit, slowestCommit),
  )
  // What our own work does to the server hurts nobody who is not there.
  return Math.min(effort, between(value('transactions', many), few, many))
}

const halfLifeMs = 4_000

/** The load rises at once and falls slowly: short transactions cost little, and others who pause for a moment come back. */
export function nextLoad(last: number, now: number, elapsedMs: number): number {
  return Math.max(now, last * 2 ** (-elapsedMs / halfLifeMs))
}
