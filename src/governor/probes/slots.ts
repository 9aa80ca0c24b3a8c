import type { Probe } from '../probe.ts'

interface Row {
  name: string
  active: boolean
  retained: string
  /** What the server lets a slot retain; null: without limit. */
  limit: string | null
  unreserved: boolean
}

/** Without a limit of the server, so much WAL in a slot counts as all of it. */
const assumedLimit = 16 * 2 ** 30

/**
 * WAL that replication slots keep from being removed, as a share of what they may keep. A slot beyond that loses its
 * subscriber, or fills the disk. Slots that are lost already keep nothing.
 */
export const slots: Probe = {
  name: 'slots',
  title: 'WAL kept for a replication slot',
  kind: 'budget',
  per: 'server',
  effect: 'hold',
  yields: true,
  smooth: false,
  unit: 'share',
  soft: 0.25,
  hard: 0.75,
  open: () => async (source) => {
    const rows = await source.query<Row>(
      `select s.slot_name as name, s.active, s.wal_status = 'unreserved' as unreserved,
         pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)::text as retained,
         (select nullif(setting::bigint, -1) * 1048576 from pg_settings where name = 'max_slot_wal_keep_size')::text as limit
       from pg_replication_slots s
       where s.restart_lsn is not null and s.wal_status is distinct from 'lost'
       order by s.wal_status = 'unreserved' desc, s.restart_lsn
       limit 1`,
    )
    const [slot] = rows
    if (slot === undefined) return undefined
    const share = Number(slot.retained) / Number(slot.limit ?? assumedLimit)
    const said = `slot ${slot.name}, ${slot.active ? 'in use' : 'not in use'}`
    return slot.unreserved ? { value: Math.max(1, share), said: `${said}, about to be lost` } : { value: share, said }
  },
}
