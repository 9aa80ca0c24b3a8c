import type { Probe } from '../probe.ts'

/** Below this a baseline says nothing: a quiet server writes next to no WAL. */
const leastPerSecond = 16 * 2 ** 20
const halfLifeMs = 60_000

/**
 * WAL per second against what the server writes when this process does not work. A fixed number of bytes is right for
 * no two servers; even so it is off unless limits are given, because what much WAL harms has probes of its own.
 */
export const walRate: Probe = {
  name: 'walRate',
  title: 'WAL rate against its baseline',
  kind: 'gauge',
  per: 'server',
  effect: 'slow',
  yields: true,
  smooth: true,
  unit: 'times',
  soft: Number.POSITIVE_INFINITY,
  hard: Number.POSITIVE_INFINITY,
  open() {
    let last: { atMs: number; position: number } | undefined
    let baseline: number | undefined
    return async (source) => {
      const [row] = await source.query<{ position: string }>(
        `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as position`,
      )
      const now = { atMs: source.nowMs, position: Number(row?.position ?? 0) }
      const before = last
      last = now
      if (before === undefined || now.atMs <= before.atMs) return undefined
      const perSecond = ((now.position - before.position) * 1_000) / (now.atMs - before.atMs)
      if (!source.working) {
        const weight = baseline === undefined ? 1 : 1 - 2 ** (-(now.atMs - before.atMs) / halfLifeMs)
        baseline = (baseline ?? 0) + weight * (perSecond - (baseline ?? 0))
      }
      return { value: perSecond / Math.max(leastPerSecond, baseline ?? 0) }
    }
  },
}
