import type { Probe } from '../probe.ts'
import { furthestBehind, hiddenReplicas, replicaInWords, replicaWatch } from './replicas.ts'
import { needsStatsRole } from './stats-role.ts'

/**
 * How long ago the primary was where the furthest replica is now. The server's own figure stands still while a replica
 * does not answer, so positions are remembered with their times instead; no heartbeat table is needed for that.
 */
export const replicaLag: Probe = {
  name: 'replicaLag',
  title: 'replica lag',
  kind: 'budget',
  per: 'server',
  effect: 'hold',
  yields: true,
  smooth: false,
  unit: 'ms',
  soft: 2_000,
  hard: 10_000,
  open() {
    const look = replicaWatch()
    let past: { atMs: number; position: number }[] = []
    return async (source) => {
      const last = furthestBehind(await look(source))
      if (last === undefined) return undefined
      past.push({ atMs: source.nowMs, position: last.current })
      // Of the positions that it has passed, the latest is enough.
      const passed = past.findLastIndex(({ position }) => position <= last.replayed)
      past = past.slice(Math.max(0, passed, past.length - 7_200))
      const behind = past.find(({ position }) => position > last.replayed)
      return { value: behind === undefined ? 0 : source.nowMs - behind.atMs, said: replicaInWords(last) }
    }
  },
  blindness: (source) => needsStatsRole(source, hiddenReplicas),
}
