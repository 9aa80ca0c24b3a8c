import type { Source } from '../probe.ts'

/** A replica as the primary sees it. */
export interface Replica {
  name: string
  /** WAL positions in bytes: what it has replayed, and where the primary is. */
  replayed: number
  current: number
  /** It is not connected any more; `replayed` is what it last said. */
  gone: boolean
}

/** A replica that is gone for so long was taken away on purpose. */
const rememberMs = 600_000

/**
 * Looks at all replicas, and goes on counting those that were cut off: a replica that is so far behind that the primary
 * has given it up must not look like one that has caught up.
 */
export function replicaWatch(): (source: Source) => Promise<Replica[]> {
  const seen = new Map<string, { replayed: number; atMs: number }>()
  return async (source) => {
    const rows = await source.query<{ name: string | null; replayed: string | null; current: string }>(
      `select nullif(r.application_name, '') || coalesce(' ' || host(r.client_addr), '') as name,
         pg_wal_lsn_diff(r.replay_lsn, '0/0')::text as replayed, pg_wal_lsn_diff(w.lsn, '0/0')::text as current
       from (select pg_current_wal_lsn() as lsn) w
       left join pg_stat_replication r on r.replay_lsn is not null and r.state in ('streaming', 'catchup')`,
    )
    const current = Number(rows[0]?.current ?? 0)
    const here = new Map<string, number>()
    for (const { name, replayed } of rows) if (replayed !== null) here.set(name ?? 'unnamed', Number(replayed))
    for (const [name, replayed] of here) seen.set(name, { replayed, atMs: source.nowMs })
    for (const [name, { atMs }] of seen) if (source.nowMs - atMs > rememberMs) seen.delete(name)
    return [...seen].map(([name, { replayed }]) => ({ name, replayed, current, gone: !here.has(name) }))
  }
}

/** The replica that is furthest behind, if there is any. */
export function furthestBehind(replicas: readonly Replica[]): Replica | undefined {
  return replicas.toSorted((a, b) => a.replayed - b.replayed)[0]
}

/** What hides replicas from a role without the right to see them. */
export const hiddenReplicas = 'how far replicas are behind is hidden from this role'

export function replicaInWords({ name, gone }: Replica): string {
  return gone ? `${name}, which is not connected any more` : name
}
