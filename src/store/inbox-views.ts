import type { Json } from '../std/json.ts'
import { statement } from './statement.ts'

/** Nobody needs to know more exactly than this how much there is. */
export const mostCounted = 1_000_000

export interface InboxView {
  name: string
  waiting: number
  failed: number
  processed: number
  differing: number
  oldest_ms: number | null
}

/** Inboxes with what is in them, each count up to {@link mostCounted}. Null: all of them. */
export const listInboxes = statement<{ name: string | null }, InboxView>(
  'inbox.list',
  `select b.name, w.n as waiting, f.n as failed, greatest(0, a.n - w.n - f.n) as processed, d.n as differing,
     (select (extract(epoch from clock_timestamp() - k.received_at) * 1000)::float8
      from sluice.inbox_key k
      where k.inbox_id = b.id and k.state = 0
      order by k.received_at
      limit 1) as oldest_ms
   from sluice.inbox b
   cross join lateral (select count(*)::int as n from (select from sluice.inbox_key k
     where k.inbox_id = b.id and k.state = 0 limit $2) k) w
   cross join lateral (select count(*)::int as n from (select from sluice.inbox_key k
     where k.inbox_id = b.id and k.state = 2 limit $2) k) f
   cross join lateral (select count(*)::int as n from (select from sluice.inbox_key k
     where k.inbox_id = b.id limit $2) k) a
   cross join lateral (select count(*)::int as n from (select from sluice.inbox_difference d
     where d.inbox_id = b.id limit $2) d) d
   where $1::text is null or b.name = $1
   order by b.name`,
  ({ name }) => [name, mostCounted],
)

export interface MessageView {
  id: number
  key: string | null
  state: 'waiting' | 'processed' | 'failed'
  /** Null once its day is dropped. */
  payload: Json | null
  job_id: number | null
  received_at: Date
  settled_at: Date | null
  expires_at: Date
  differing: number
}

/** The messages that have waited longest, without their payloads. */
export const oldestMessages = statement<{ name: string; limit: number }, MessageView>(
  'inbox.oldest',
  `select k.message_id as id, m.key, 'waiting' as state, null::jsonb as payload, m.job_id, k.received_at, k.settled_at,
     k.expires_at, (select count(*)::int from sluice.inbox_difference d
       where d.inbox_id = k.inbox_id and d.key_hash = k.key_hash) as differing
   from (select k.* from sluice.inbox_key k
         where k.inbox_id = (select id from sluice.inbox where name = $1) and k.state = 0
         order by k.received_at, k.message_id
         limit $2) k
   left join sluice.inbox_message m on m.id = k.message_id and m.received_at = k.received_at
   order by k.received_at, k.message_id`,
  ({ name, limit }) => [name, limit],
)

/** One message by its key. */
export const findMessage = statement<{ name: string; keyHash: string }, MessageView>(
  'inbox.find',
  `select k.message_id as id, m.key, (array['waiting', 'processed', 'failed'])[k.state + 1] as state, m.payload,
     m.job_id, k.received_at, k.settled_at, k.expires_at, (select count(*)::int from sluice.inbox_difference d
       where d.inbox_id = k.inbox_id and d.key_hash = k.key_hash) as differing
   from sluice.inbox_key k
   left join sluice.inbox_message m on m.id = k.message_id and m.received_at = k.received_at
   where k.inbox_id = (select id from sluice.inbox where name = $1) and k.key_hash = $2`,
  ({ name, keyHash }) => [name, keyHash],
)
