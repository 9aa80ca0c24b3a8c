import type { Telemetry } from './telemetry.ts'

/** Tells whether reads go to the replica, or why they do not. */
export function replicaNews(telemetry: Telemetry): (reason: string | null) => void {
  return (reason) =>
    reason === null
      ? telemetry.emit('replica.used', { purpose: 'reads' })
      : telemetry.emit('replica.skipped', { reason })
}
