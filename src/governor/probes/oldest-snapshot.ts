import type { Probe } from '../probe.ts'

interface Row {
  holder: string
  xmin: string
  /** Of its transaction, where this role may see it. */
  ageMs: number | null
}

/**
 * How long the oldest snapshot has been held. As long as somebody holds it, nothing that we delete can be cleaned up.
 * Sessions, prepared transactions, replicas and slots can hold one; the holder is named, because pausing does not end
 * it and a person may want to.
 */
export const oldestSnapshot: Probe = {
  name: 'oldestSnapshot',
  title: 'oldest snapshot',
  kind: 'gauge',
  per: 'server',
  effect: 'slow',
  yields: true,
  smooth: false,
  unit: 'ms',
  soft: 600_000,
  hard: 3_600_000,
  open() {
    let held: { xmin: string; holder: string; sinceMs: number } | undefined
    return async (source) => {
      const [row] = await source.query<Row>(
        `select holder, xmin::text as xmin, 1000 * extract(epoch from clock_timestamp() - since)::float8 as "ageMs"
         from (
           select 'pid ' || a.pid || coalesce(', user ' || a.usename, '') || coalesce(', ' || nullif(a.application_name, ''), '')
             || coalesce(', ' || a.state, '') as holder, a.backend_xmin as xmin, a.xact_start as since
           from pg_stat_activity a
           where a.backend_xmin is not null and a.pid <> pg_backend_pid()
             and (a.datid is null or a.datid = (select oid from pg_database where datname = current_database()))
             and not exists (select from pg_stat_progress_vacuum v where v.pid = a.pid)
           union all
           select 'prepared transaction ' || quote_literal(p.gid) || ', user ' || p.owner, p.transaction, p.prepared
           from pg_prepared_xacts p
           where p.database = current_database()
           union all
           select 'replication slot ' || s.slot_name, coalesce(s.xmin, s.catalog_xmin), null
           from pg_replication_slots s
           where s.xmin is not null
         ) h
         where holder is not null
         order by age(xmin) desc
         limit 1`,
      )
      if (row === undefined) {
        held = undefined
        return { value: 0 }
      }
      // Where the age is hidden, the time since the same snapshot was first seen is a lower bound.
      if (held?.xmin !== row.xmin) held = { xmin: row.xmin, holder: row.holder, sinceMs: source.nowMs }
      return { value: Math.max(row.ageMs ?? 0, source.nowMs - held.sinceMs), said: row.holder }
    }
  },
}
