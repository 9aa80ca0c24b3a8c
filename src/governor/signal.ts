import type { Weight } from './probe.ts'

/** What a probe says at the moment, as the policy sees it. */
export interface Signal extends Weight {
  /** Undefined: there is nothing to measure, or nothing has been measured yet. */
  readonly value: number | undefined
  /** It cannot be read any more. */
  readonly stale: boolean
  readonly said: string | undefined
}

/** How much of the way from the soft to the hard limit a value has gone, from 0 to 1. */
export function stressOf(value: number, { soft, hard }: Pick<Weight, 'soft' | 'hard'>): number {
  if (!Number.isFinite(soft)) return 0
  if (soft === hard) return value >= hard ? 1 : 0
  return Math.min(1, Math.max(0, (value - soft) / (hard - soft)))
}

/** Whether a value is so far from its soft limit that a hold for it may end. */
export function isCalm(value: number, { soft, hard }: Pick<Weight, 'soft' | 'hard'>): boolean {
  if (!Number.isFinite(soft)) return true
  return soft <= hard ? value <= 0.8 * soft : value >= soft + 0.2 * (soft - hard)
}

/** Whether one value is worse than another. */
export function isWorse(a: number, b: number, { soft, hard }: Pick<Weight, 'soft' | 'hard'>): boolean {
  return soft <= hard ? a > b : a < b
}

/** A smoothed value and when it was. */
export interface Smoothed {
  value: number
  atMs: number
}

const timeConstantMs = 1_500
/** After so long without a value the old ones say nothing about the new one. */
const blindMs = 5_000

/** Takes single values for less than they are, and begins anew after a gap in which nothing could be seen. */
export function smooth(last: Smoothed | undefined, value: number, nowMs: number): Smoothed {
  if (last === undefined || nowMs - last.atMs > blindMs) return { value, atMs: nowMs }
  const weight = 1 - Math.exp(-Math.max(0, nowMs - last.atMs) / timeConstantMs)
  return { value: last.value + weight * (value - last.value), atMs: nowMs }
}
