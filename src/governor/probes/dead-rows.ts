import type { Probe } from '../probe.ts'

/**
 * Dead rows of the walked table as a share of all, in its heap or in its TOAST table, whichever has more. Small tables
 * are left out: what is dead there harms nobody. It counts for operations with a budget of dead rows, and where limits
 * are given: a walk along the keys does not suffer from dead rows, and who deletes most of a table leaves many.
 */
export const deadRows: Probe = {
  name: 'deadRows',
  title: 'dead rows of the table',
  kind: 'gauge',
  per: 'table',
  effect: 'slow',
  yields: true,
  smooth: false,
  unit: 'share',
  soft: Number.POSITIVE_INFINITY,
  hard: Number.POSITIVE_INFINITY,
  open: () => async (source, table) => {
    const [row] = await source.query<{ share: number | null; part: string }>(
      `select part, dead::float8 / (dead + live) as share
       from (
         select 'heap' as part, s.n_dead_tup as dead, s.n_live_tup as live
         from pg_stat_all_tables s
         where s.relid = to_regclass($1)
         union all
         select 'TOAST', t.n_dead_tup, t.n_live_tup
         from pg_class c
         join pg_stat_all_tables t on t.relid = c.reltoastrelid
         where c.oid = to_regclass($1)
       ) p
       where dead + live >= 10000
       order by share desc
       limit 1`,
      [table],
    )
    return row?.share == null ? undefined : { value: row.share, said: `${table}, ${row.part}` }
  },
}
