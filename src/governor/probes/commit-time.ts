import type { Probe } from '../probe.ts'

const remembered = 300
/** A commit that is faster than this is fast, however fast the others were. */
const leastMs = 5

/**
 * How long a small commit takes, against the fast ones of the last minutes: a canary for the disk and for standbys
 * that commits wait for.
 */
export const commitTime: Probe = {
  name: 'commitTime',
  title: 'time of a small commit against its usual one',
  kind: 'gauge',
  per: 'server',
  effect: 'slow',
  yields: true,
  smooth: true,
  unit: 'times',
  soft: 8,
  hard: 40,
  open() {
    let past: number[] = []
    return async (source) => {
      const began = performance.now()
      await source.commit()
      const tookMs = performance.now() - began
      past = [...past, tookMs].slice(-remembered)
      const usual = past.toSorted((a, b) => a - b)[Math.floor(past.length / 5)] ?? tookMs
      return { value: Math.max(leastMs, tookMs) / Math.max(leastMs, usual) }
    }
  },
}
