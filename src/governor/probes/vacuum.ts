import type { Probe } from '../probe.ts'

/** A plain vacuum is let past us by working at about half the pace; one that prevents wraparound gets all of it. */
const plain = 0.3

/**
 * Whether a vacuum works on the table. We slow down for it, because it cleans up behind us; it would be wrong to stop
 * for hours. A vacuum against wraparound must end, so for that one we stop. The lock of a vacuum shows to everybody,
 * and whether it is about wraparound tells the age of the table.
 */
export const vacuum: Probe = {
  name: 'vacuum',
  title: 'vacuum of the table',
  kind: 'gauge',
  per: 'table',
  effect: 'hold',
  yields: true,
  smooth: false,
  unit: 'share',
  soft: 0,
  hard: 1,
  open: () => async (source, table) => {
    const [row] = await source.query<{ pid: number; urgent: boolean }>(
      `select l.pid, age(c.relfrozenxid) > current_setting('autovacuum_freeze_max_age')::bigint as urgent
       from pg_class c
       join pg_locks l on l.relation in (c.oid, nullif(c.reltoastrelid, 0))
         and l.database = (select oid from pg_database where datname = current_database())
         and l.mode = 'ShareUpdateExclusiveLock' and l.granted
       where c.oid = to_regclass($1)
         and not exists (
           select from pg_stat_activity a where a.pid = l.pid and a.application_name like 'sluice %')
       limit 1`,
      [table],
    )
    if (row === undefined) return { value: 0 }
    if (row.urgent) return { value: 1, said: `pid ${row.pid}, to prevent transaction id wraparound` }
    return { value: plain, said: `pid ${row.pid}` }
  },
}
