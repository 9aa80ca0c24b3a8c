import type { Probe } from '../probe.ts'

interface Row {
  mode: string
  current: number
  archived: number | null
  failing: boolean
}

/** The number of a WAL segment by its name, whatever the size of segments is. */
const archived = `('x' || substr(a.last_archived_wal, 9, 8))::bit(32)::bigint * (4294967296 / w.size)
             + ('x' || substr(a.last_archived_wal, 17, 8))::bit(32)::bigint`

/** Finished WAL segments that wait to be archived. While they wait they fill the disk. */
export const archive: Probe = {
  name: 'archive',
  title: 'WAL archive backlog',
  kind: 'budget',
  per: 'server',
  effect: 'hold',
  yields: true,
  smooth: false,
  unit: 'segments',
  soft: 16,
  hard: 42,
  open() {
    let first: number | undefined
    return async (source) => {
      const [row] = await source.query<Row>(
        `select current_setting('archive_mode') as mode,
           floor((pg_current_wal_lsn() - '0/0'::pg_lsn) / w.size)::float8 as current,
           (case when a.last_archived_wal ~ '^[0-9A-F]{24}$' then ${archived} end)::float8 as archived,
           coalesce(a.last_failed_time > coalesce(a.last_archived_time, '-infinity'), false) as failing
         from pg_stat_archiver a,
           (select setting::bigint as size from pg_settings where name = 'wal_segment_size') w`,
      )
      if (row === undefined || row.mode === 'off') return undefined
      // Where nothing has been archived yet, what was there before the first look is not counted.
      first ??= row.current - 1
      const value = Math.max(0, row.current - 1 - (row.archived ?? first))
      return row.failing ? { value, said: 'the archive command fails' } : { value }
    }
  },
}
