import type { Probe } from '../probe.ts'

/** Sessions tell the server of their transactions once a second; over some seconds that evens out. */
const windowMs = 4_000

/**
 * Transactions of other sessions per second and core: whether anybody is there to wait for ours. The probe has no
 * limits of its own. Transactions of other Sluice workers are subtracted; these report how many they run.
 *
 * Decision: the load comes from this count, and from lock waits. Our own work also makes commits slow and sessions
 * busy, and subtracting it from those signals leaves noise. So sub-batches aim at the long target unless others have
 * transactions that could wait.
 */
export const transactions: Probe = {
  name: 'transactions',
  title: 'transactions of others per core',
  kind: 'gauge',
  per: 'server',
  effect: 'slow',
  yields: true,
  smooth: true,
  unit: 'per second',
  soft: Infinity,
  hard: Infinity,
  advises: true,
  open() {
    let past: { atMs: number; others: number }[] = []
    return async (source) => {
      const [row] = await source.query<{ all: number }>(
        'select sum(xact_commit + xact_rollback)::float8 as all from pg_stat_database',
      )
      const now = { atMs: source.nowMs, others: (row?.all ?? 0) - source.transactions }
      const recent = past.filter(({ atMs }) => now.atMs - atMs <= windowMs)
      // After a time without work the last look was long ago, and what there was since then is better than nothing.
      const before = recent[0] ?? past.at(-1)
      past = [...recent, now]
      if (before === undefined || now.atMs <= before.atMs) return undefined
      const perSecond = ((now.others - before.others) * 1_000) / (now.atMs - before.atMs) - source.peers
      return { value: Math.max(0, perSecond) / source.cores }
    }
  },
}
