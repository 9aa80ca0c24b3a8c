import type { Probe } from '../probe.ts'

/** A long statement is counted when it ends, all at once: it must not look like a crowd. */
const mostPerCore = 8

interface Row {
  /** Time that all sessions of the server have spent executing, in ms. */
  active: number
  /** Sessions of other processes like this one that execute right now. */
  others: number
}

/**
 * Sessions of others that execute, on average since the last look, per core. The server adds up the time that sessions
 * execute, and lets everybody read the sum; a count of sessions at one moment would say little, and is hidden from
 * most roles. What this process itself has executed is taken off, and what others like it do at this moment.
 */
export const activeSessions: Probe = {
  name: 'activeSessions',
  title: 'active sessions of others',
  kind: 'gauge',
  per: 'server',
  effect: 'slow',
  yields: true,
  smooth: true,
  unit: 'per core',
  soft: 1.5,
  hard: 4,
  open() {
    let last: { atMs: number; active: number; busyMs: number } | undefined
    return async (source) => {
      const [row] = await source.query<Row>(
        `select (select sum(active_time) from pg_stat_database)::float8 as active,
           (select count(*) from pg_stat_activity
            where application_name = 'sluice work' and state = 'active')::int as others`,
      )
      const now = { atMs: source.nowMs, active: row?.active ?? 0, busyMs: source.busyMs }
      const before = last
      last = now
      if (before === undefined || now.atMs <= before.atMs) return undefined
      const all = Math.min(mostPerCore * source.cores, (now.active - before.active) / (now.atMs - before.atMs))
      const own = (now.busyMs - before.busyMs) / (now.atMs - before.atMs)
      return { value: Math.max(0, all - Math.max(own, row?.others ?? 0)) / source.cores }
    }
  },
}
