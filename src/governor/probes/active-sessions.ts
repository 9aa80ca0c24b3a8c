import type { Probe } from '../probe.ts'

/** A long statement is counted when it ends, all at once: it must not look like a crowd. */
const mostPerCore = 8
/** Sessions tell the server what they have executed once a second; over two or three seconds that evens out. */
const windowMs = 2_500
/** So many moments make an average. */
const samples = 10

interface Row {
  /** Time that all sessions of the server have spent executing, in ms. */
  active: number
  /** Sessions of ours that execute right now, in this process and in others. */
  ours: number
  /** Sessions of others that are in a transaction right now: no more than these execute. */
  others: number
}

/**
 * Sessions of others that execute, on average over the last seconds, per core. The server adds up the time that
 * sessions execute, and lets everybody read the sum; a count of sessions at one moment would say little, and is hidden from
 * most roles. What we ourselves execute is taken off, as the average of some moments: how long our statements take by
 * our own clock is more than the server takes, and would hide a few sessions of others.
 *
 * The sum grows by a long statement when that ends, and whoever ran it may be gone by then. So no more sessions count than
 * were in a transaction at one of the looks: each holds a lock on its own transaction, which everybody may see.
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
    let past: { atMs: number; active: number; others: number }[] = []
    let ours: number[] = []
    return async (source) => {
      const [row] = await source.query<Row>(
        `select (select sum(active_time) from pg_stat_database)::float8 as active,
           (select count(*) from pg_stat_activity
            where application_name = 'sluice work' and state = 'active')::int as ours,
           (select count(*) from pg_locks l
            where l.locktype = 'virtualxid' and l.mode = 'ExclusiveLock' and l.granted and l.pid <> pg_backend_pid()
              and not exists (select from pg_stat_activity a
                              where a.pid = l.pid and a.application_name = 'sluice work'))::int as others`,
      )
      const now = { atMs: source.nowMs, active: row?.active ?? 0, others: row?.others ?? 0 }
      past = [...past.filter(({ atMs }) => now.atMs - atMs <= windowMs), now]
      ours = [...ours, source.working ? (row?.ours ?? 0) : 0].slice(-samples)
      const before = past[0]
      if (before === undefined || now.atMs <= before.atMs) return undefined
      const all = Math.min(mostPerCore * source.cores, (now.active - before.active) / (now.atMs - before.atMs))
      const own = ours.reduce((sum, count) => sum + count, 0) / ours.length
      const most = Math.max(...past.map(({ others }) => others))
      return { value: Math.min(most, Math.max(0, all - own)) / source.cores }
    }
  },
}
