import type { Probe } from '../probe.ts'
import { furthestBehind, hiddenReplicas, replicaInWords, replicaWatch } from './replicas.ts'
import { needsStatsRole } from './stats-role.ts'

/** WAL that the furthest replica has not replayed. It grows at once when a replica stops, whatever the clock says. */
export const replicaBytes: Probe = {
  name: 'replicaBytes',
  title: 'WAL that a replica has not replayed',
  kind: 'budget',
  per: 'server',
  effect: 'hold',
  yields: true,
  smooth: false,
  unit: 'bytes',
  soft: 128 * 2 ** 20,
  hard: 1024 * 2 ** 20,
  open() {
    const look = replicaWatch()
    return async (source) => {
      const last = furthestBehind(await look(source))
      return last && { value: Math.max(0, last.current - last.replayed), said: replicaInWords(last) }
    }
  },
  blindness: (source) => needsStatsRole(source, hiddenReplicas),
}
