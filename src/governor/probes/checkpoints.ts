import type { Probe } from '../probe.ts'

const windowMs = 300_000

/**
 * Checkpoints in the last five minutes that WAL forced before their time. After each one every page is logged whole at
 * its first change, so that they make what causes them worse.
 */
export const checkpoints: Probe = {
  name: 'checkpoints',
  title: 'forced checkpoints in five minutes',
  kind: 'gauge',
  per: 'server',
  effect: 'slow',
  yields: true,
  smooth: false,
  unit: 'count',
  soft: 4,
  hard: 16,
  open() {
    let past: { atMs: number; requested: number }[] = []
    return async (source) => {
      const [row] = await source.query<{ requested: string }>(
        source.serverVersion >= 170_000
          ? 'select num_requested::text as requested from pg_stat_checkpointer'
          : 'select checkpoints_req::text as requested from pg_stat_bgwriter',
      )
      const requested = Number(row?.requested ?? 0)
      const fresh = past.filter(({ atMs, requested: then }) => source.nowMs - atMs <= windowMs && then <= requested)
      past = [...fresh, { atMs: source.nowMs, requested }]
      return { value: requested - (past[0]?.requested ?? requested) }
    }
  },
}
