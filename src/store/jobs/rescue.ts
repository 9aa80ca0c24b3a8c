import type { JobClaim } from '../../jobs/ending.ts'
import type { KeptHistory } from '../../jobs/queue.ts'
import type { StoreConnection } from '../connection.ts'
import { isAnyMissing, isAnyOlder } from '../partitions.ts'
import { statement } from '../statement.ts'

export interface RescuedJob {
  id: number
  name: string
  worker_id: string
  crashes: number
}

/** Frees the jobs of workers that have gone silent. Any worker does it; the nonce keeps late ones out. */
export const rescueJobs = statement<{ leaseMs: number }, RescuedJob>(
  'job.rescue',
  `with gone as materialized (
     select c.id, c.worker_id, c.job_ids
     from sluice.job_claim c
     where c.claimed_at < clock_timestamp() - $1 * interval '1 millisecond'
       and not exists (select from sluice.worker w where w.id = c.worker_id
                         and w.seen_at > clock_timestamp() - $1 * interval '1 millisecond')
     order by c.id
     limit 100
     for update skip locked
   ), free as materialized (
     -- A job in the open transaction of a stalled worker is left for the next sweep, and the others are not.
     select j.id, g.id as claim_id, g.worker_id
     from gone g
     cross join lateral unnest(g.job_ids) r
     join sluice.job j on j.id >= lower(r) and j.id < upper(r) and (j.claim_id = g.id or j.state = 0)
     for update of j skip locked
   ), back as (
     update sluice.job j
     set claim_id = null, state = 4, attempt = case j.state when 0 then 1 else j.attempt end, crashes = j.crashes + 1,
       enqueued_at = coalesce(j.enqueued_at, j.run_at), run_at = clock_timestamp()
     from free f
     where j.id = f.id
       and (j.claim_id = f.claim_id or j.state = 0)
     returning j.id, j.class_id, f.worker_id, j.crashes, j.attempt
   ), attempts as (
     insert into sluice.job_attempt (job_id, next_at, worker_id, attempt, verdict, reason)
     select id, clock_timestamp(), worker_id, attempt, 'crash', 'its worker gave no sign of life any more'
     from back
   ), dropped as (
     delete from sluice.job_claim c
     using gone g
     where c.id = g.id
       and not exists (select from unnest(g.job_ids) r
                       join sluice.job j on j.id >= lower(r) and j.id < upper(r) and (j.claim_id = g.id or j.state = 0)
                       where j.id not in (select id from free))
   )
   select b.id, c.name, b.worker_id, b.crashes
   from back b
   join sluice.job_class c on c.id = b.class_id`,
  ({ leaseMs }) => [leaseMs],
)

/** Isolates jobs on which workers died again and again. */
export const quarantinePoison = statement<
  { crashes: number },
  { id: number; name: string; queue: string; crashes: number; key: string | null; batch_id: number | null }
>(
  'job.quarantinePoison',
  `with poison as materialized (
     select j.id
     from sluice.job j
     where j.state = 4 and j.claim_id is null and j.crashes >= $1
     limit 100
     for update skip locked
   ), gone as (
     delete from sluice.job j
     using poison p
     where j.id = p.id
     returning j.*
   ), dead as (
     insert into sluice.job_dead (id, enqueued_at, class_id, queue_id, priority, attempt, crashes, outcome, reason,
       args, key, key_hash, key_limit, tags, batch_id)
     select id, coalesce(enqueued_at, run_at), class_id, queue_id, priority, attempt, crashes, 'quarantined',
       format('its worker died %s times while it ran', crashes), args, key, key_hash, key_limit, tags, batch_id
     from gone
   ), unlocked as (
     delete from sluice.job_lock d
     where d.ctid = any(array(
       select l.ctid from sluice.job_lock l
       where l.hash = any(array(select unique_hash from gone where unique_hash is not null))
         and l.job_id = any(array(select id from gone where unique_hash is not null))
       for update skip locked))
   )
   select g.id, c.name, q.name as queue, g.crashes, g.key_hash::text as key, g.batch_id
   from gone g
   join sluice.job_class c on c.id = g.class_id
   join sluice.queue q on q.id = g.queue_id`,
  ({ crashes }) => [crashes],
)

/** How many concurrency keys one sweep reads. */
const keysPerLook = 1_000

/** What a look at waiting jobs has let in, and the key after which the next one goes on; null: from the first. */
export interface Admission {
  admitted: number
  next: string | null
}

/**
 * Readies keyed jobs that are due and parked ones for which there is room: the net under every other admission. One
 * look is at some keys after a given one; where there are more, the next look goes on with them.
 */
export async function admitWaiting(
  connection: StoreConnection,
  { after }: { after: string | null },
): Promise<Admission> {
  const [looked] = await admitSome(connection, { after })
  return looked ?? { admitted: 0, next: null }
}

const admitSome = statement<{ after: string | null }, Admission>(
  'job.admitWaiting',
  `select admitted, next_key::text as next from sluice.admit_waiting_jobs($1, $2)`,
  ({ after }) => [after, keysPerLook],
)

/** Which of these running jobs are still ours, and which of them a person wants to end. */
export const watchRunning = statement<
  { claims: readonly JobClaim[] },
  { id: number; claim_id: string; cancelling: string | null }
>(
  'job.watchRunning',
  `select j.id, g.claim_id::text, (select x.reason from sluice.job_cancel x where x.job_id = j.id) as cancelling
   from sluice.job j
   join unnest($1::bigint[], $2::bigint[]) g(id, claim_id) on g.id = j.id and (j.claim_id = g.claim_id
       or (j.state = 0 and exists (select from sluice.job_claim c where c.id = g.claim_id)))`,
  ({ claims }) => [claims.map((c) => c.id), claims.map((c) => c.claimId)],
)

const days = { tables: ['job_history', 'job_dead', 'job_attempt'], unit: 'day' } as const
const daysAhead = 7

/** Makes sure that ended jobs have a partition to go to, today and for some days. */
export async function createJobPartitions(connection: StoreConnection): Promise<void> {
  const [look] = await isAnyMissing(connection, { ...days, ahead: daysAhead })
  if (look?.missing === true) await createDays(connection)
}

const createDays = statement<void, { created: number }>(
  'job.createPartitions',
  `select sluice.create_job_partitions($1) as created`,
  () => [daysAhead],
)

/** Drops the days of history that are old enough. */
export async function dropJobPartitions(connection: StoreConnection, kept: KeptHistory): Promise<void> {
  const [look] = await isAnyOlder(connection, { ...days, keepDays: Math.min(kept.keepDays, kept.keepDeadDays) })
  if (look?.older === true) await dropDays(connection, kept)
}

const dropDays = statement<KeptHistory, { dropped: number }>(
  'job.dropPartitions',
  `select sluice.drop_job_partitions($1, $2) as dropped`,
  (p) => [p.keepDays, p.keepDeadDays],
)

/** Forgets wishes to end jobs that have ended. */
export const forgetCancels = statement<void, { id: number }>(
  'job.forgetCancels',
  `delete from sluice.job_cancel c
   where not exists (select from sluice.job j where j.id = c.job_id)
   returning c.job_id as id`,
  () => [],
)
