import type { Probe } from '../probe.ts'

/** Sessions of others that wait for a lock of ours, or behind one that we wait for. */
export const lockWaits: Probe = {
  name: 'lockWaits',
  title: 'sessions that wait for our locks',
  kind: 'gauge',
  per: 'server',
  effect: 'hold',
  yields: true,
  smooth: false,
  unit: 'count',
  soft: 0,
  hard: 3,
  open: () => async (source) => {
    // Who blocks whom is asked for those who wait alone: the question locks the lock table for a moment.
    const [row] = await source.query<{ waiting: number; first: number | null }>(
      `with ours as materialized (
         select pid
         from pg_stat_activity
         where datid = (select oid from pg_database where datname = current_database())
           and application_name like 'sluice %'
       ), waiting as materialized (
         select distinct pid
         from pg_locks
         where not granted and pid not in (select pid from ours)
       )
       select count(*)::int as waiting, min(pid) as first
       from waiting
       where pg_blocking_pids(pid) && array(select pid from ours)`,
    )
    const value = row?.waiting ?? 0
    return value === 0 ? { value } : { value, said: `pid ${row?.first}${value > 1 ? ' and others' : ''}` }
  },
}
