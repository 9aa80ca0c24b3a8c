import type { Probe } from '../probe.ts'

/** Sessions tell the server of their transactions once a second; over some seconds that evens out. */
const windowMs = 4_000

/**
 * Transactions of others in a second. It has no limits of its own: where there are few, nobody waits for the end of
 * ours, and they may be longer.
 */
export const transactions: Probe = {
  name: 'transactions',
  title: 'transactions of others',
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
      past = [...past.filter(({ atMs }) => now.atMs - atMs <= windowMs), now]
      const before = past[0]
      if (before === undefined || now.atMs <= before.atMs) return undefined
      return { value: Math.max(0, ((now.others - before.others) * 1_000) / (now.atMs - before.atMs)) }
    }
  },
}
