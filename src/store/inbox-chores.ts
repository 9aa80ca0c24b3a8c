import type { Json } from '../std/json.ts'
import { list, statement } from './statement.ts'

/** Whether there is no partition for what comes today. */
export const isInboxDayMissing = statement<void, { missing: boolean }>(
  'inbox.isDayMissing',
  `select to_regclass('sluice.inbox_message_' || to_char(clock_timestamp() at time zone 'UTC', 'YYYYMMDD')) is null
     as missing`,
  () => [],
)

/** Makes partitions for the days to come. */
export const createInboxPartitions = statement<void, object>(
  'inbox.createPartitions',
  `select sluice.create_inbox_partitions(7)`,
  () => [],
)

/** Drops payloads that are older than that, as far as nobody waits for them. */
export const dropInboxPartitions = statement<{ keepDays: number; keepDeadDays: number }, object>(
  'inbox.dropPartitions',
  `select sluice.drop_inbox_partitions($1, $2)`,
  ({ keepDays, keepDeadDays }) => [keepDays, keepDeadDays],
)

/** Frees keys that have expired, some at a time. What waits keeps its key for as long as it waits. */
export const freeKeys = statement<{ limit: number }, { freed: number }>(
  'inbox.freeKeys',
  `with gone as materialized (
     select ctid
     from sluice.inbox_key
     where expires_at <= clock_timestamp() and state <> 0
     order by expires_at
     limit $1
     for update skip locked
   ), freed as (
     delete from sluice.inbox_key k
     using gone g
     where k.ctid = g.ctid
     returning k.inbox_id, k.key_hash
   ), differences as (
     delete from sluice.inbox_difference d
     using freed f
     where d.inbox_id = f.inbox_id and d.key_hash = f.key_hash
   )
   select count(*)::int as freed
   from freed`,
  ({ limit }) => [limit],
)

/** Forgets results that have expired, some at a time. */
export const forgetResults = statement<{ limit: number }, { forgotten: number }>(
  'inbox.forgetResults',
  `with gone as materialized (
     select ctid
     from sluice.once_result
     where expires_at <= clock_timestamp()
     order by expires_at
     limit $1
     for update skip locked
   ), forgotten as (
     delete from sluice.once_result r
     using gone g
     where r.ctid = g.ctid
     returning r.hash
   )
   select count(*)::int as forgotten
   from forgotten`,
  ({ limit }) => [limit],
)

export interface WaitingMessage {
  id: number
  key_hash: string
  /** As text: a Date would lose its microseconds. */
  at: string
  job_id: number | null
  /** Its job has not ended. */
  alive: boolean
}

/** Messages of an inbox that are older than so much, behind a place in the order of their arrival. */
export interface PageOrder {
  name: string
  after: { at: string; id: number }
  ageMs: number
  limit: number
}

/**
 * Looks at messages that have waited for a while, a page at a time, and whether their jobs have ended: in one snapshot,
 * because a job that succeeds leaves the live table in the transaction that marks its message.
 */
export const lookAfter = statement<PageOrder, WaitingMessage>(
  'inbox.lookAfter',
  `select k.message_id as id, k.key_hash, to_char(k.received_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at,
     m.job_id, exists (select from sluice.job j where j.id = m.job_id) as alive
   from (select k.* from sluice.inbox_key k
         where k.inbox_id = (select id from sluice.inbox where name = $1) and k.state = 0
           and (k.received_at, k.message_id) > ($2::timestamptz, $3)
           and k.received_at < clock_timestamp() - $4 * interval '1 millisecond'
         order by k.received_at, k.message_id
         limit $5) k
   left join sluice.inbox_message m on m.id = k.message_id and m.received_at = k.received_at
   order by k.received_at, k.message_id`,
  ({ name, after, ageMs, limit }) => [name, after.at, after.id, ageMs, limit],
)

/** Marks messages as failed whose job ended without success; gives those that waited until now. */
export const markFailed = statement<{ inbox: string; ids: readonly number[]; keys: readonly string[] }, { id: number }>(
  'inbox.markFailed',
  `update sluice.inbox_key k
   set state = 2, settled_at = clock_timestamp()
   from unnest($2::bigint[], $3::uuid[]) g(id, key_hash)
   where k.inbox_id = (select id from sluice.inbox where name = $1) and k.key_hash = g.key_hash
     and k.message_id = g.id and k.state = 0
   returning k.message_id as id`,
  ({ inbox, ids, keys }) => [inbox, list(ids), list(keys)],
)

/**
 * Locks messages whose job is lost, if they still wait for that job and nobody has retried it meanwhile; others who do
 * the same find nothing left.
 */
export const lockLost = statement<
  { inbox: string; lost: readonly WaitingMessage[] },
  { id: number | string; key_hash: string; at: string; payload: Json }
>(
  'inbox.lockLost',
  `select m.id, g.key_hash, g.at, m.payload
   from unnest($2::bigint[], $3::uuid[], $4::text[], $5::bigint[]) g(id, key_hash, at, job_id)
   join sluice.inbox_key k on k.inbox_id = (select id from sluice.inbox where name = $1) and k.key_hash = g.key_hash
     and k.message_id = g.id and k.state = 0
   join sluice.inbox_message m on m.id = g.id and m.received_at = g.at::timestamptz and m.job_id = g.job_id
   where not exists (select from sluice.job j where j.id = g.job_id)
   order by m.id
   for update of m skip locked`,
  ({ inbox, lost }) => [
    inbox,
    list(lost.map(({ id }) => id)),
    list(lost.map((message) => message.key_hash)),
    lost.map(({ at }) => at),
    list(lost.map((message) => message.job_id ?? 0)),
  ],
)

/** Writes down which job processes a message now. */
export const assignJobs = statement<
  { assigned: readonly { id: number | string; at: string; jobId: number | string }[] },
  object
>(
  'inbox.assignJobs',
  `update sluice.inbox_message m
   set job_id = g.job_id
   from unnest($1::bigint[], $2::text[], $3::bigint[]) g(id, at, job_id)
   where m.id = g.id and m.received_at = g.at::timestamptz`,
  ({ assigned }) => [
    list(assigned.map(({ id }) => id)),
    assigned.map(({ at }) => at),
    list(assigned.map(({ jobId }) => jobId)),
  ],
)
