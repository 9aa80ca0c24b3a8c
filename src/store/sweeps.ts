import { freeText } from './free-text.ts'
import { statement } from './statement.ts'

/** What there is to know before looking for rows. */
export interface SweepLook {
  now: Date
  held_ms: number
  held_reason: string | null
  wanted_at: Date | null
  /** Rows wait for another attempt, or for somebody in place of a worker that is silent. */
  offered: boolean
  /** Rows stand as claimed by the worker who asks. */
  mine: boolean
}

/** Asks what all processes should know of a sweep; makes it known, the first time. */
export const lookAtSweep = statement<{ name: string; workerId: string; leaseMs: number }, SweepLook>(
  'sweep.look',
  `with known as (
     insert into sluice.sweep (name)
     select $1
     where not exists (select from sluice.sweep where name = $1)
     on conflict do nothing
   )
   select clock_timestamp() as now, s.held_reason, s.wanted_at,
     greatest(0, coalesce(extract(epoch from s.held_until - clock_timestamp()) * 1000, 0))::int as held_ms,
     exists (select from sluice.sweep_claim c
             where c.sweep = $1 and c.worker_id is null and c.quarantined_at is null
               and c.retry_at <= clock_timestamp())
     or exists (select from sluice.sweep_claim c
                where c.sweep = $1 and c.worker_id is not null
                  and c.claimed_at < clock_timestamp() - $2 * interval '1 millisecond'
                  and not exists (select from sluice.worker w where w.id = c.worker_id
                                    and w.seen_at > clock_timestamp() - $2 * interval '1 millisecond')) as offered,
     exists (select from sluice.sweep_claim c where c.sweep = $1 and c.worker_id = $3) as mine
   from (select) one
   left join sluice.sweep s on s.name = $1`,
  ({ name, leaseMs, workerId }) => [name, leaseMs, workerId],
)

/** A hold, and the claims that go back with it. */
export interface SweepHold {
  name: string
  reason: string
  forMs: number
  /** Null: none go back. */
  owner: { workerId: string; nonce: string } | null
}

/**
 * Lets no process begin anything of a sweep for a while, and gives the owner's rows back for as long; a longer hold
 * stays. Not held (null) when a person has asked for a run since those rows were claimed: what failed was begun before.
 */
export const holdSweep = statement<SweepHold, { held_until: Date | null; released: number }>(
  'sweep.hold',
  `with held as (
     insert into sluice.sweep as s (name, held_until, held_reason)
     values ($1, clock_timestamp() + $3 * interval '1 millisecond', $2)
     on conflict (name) do update
     set held_until = greatest(s.held_until, excluded.held_until), held_reason = excluded.held_reason
     where s.wanted_at is null
       or s.wanted_at <= coalesce((select min(c.claimed_at) from sluice.sweep_claim c
                                   where c.sweep = $1 and c.worker_id = $4 and c.nonce = $5), s.wanted_at)
     returning held_until
   ), released as (
     update sluice.sweep_claim c
     set worker_id = null,
       retry_at = clock_timestamp() + case when exists (select from held) then $3 else 0 end * interval '1 millisecond'
     where c.sweep = $1 and c.worker_id = $4 and c.nonce = $5
     returning c.key
   )
   select (select held_until from held) as held_until, (select count(*)::int from released) as released`,
  ({ name, reason, forMs, owner }) => [name, freeText(reason), forMs, owner?.workerId ?? null, owner?.nonce ?? null],
)

/** Lets nothing of a sweep wait for another attempt. After {@link wantSweep}: what a hold gave back before is seen. */
export const offerWaiting = statement<{ name: string }, object>(
  'sweep.offerWaiting',
  `update sluice.sweep_claim
   set retry_at = clock_timestamp()
   where sweep = $1 and worker_id is null and quarantined_at is null and retry_at > clock_timestamp()`,
  ({ name }) => [name],
)

/** Asks all processes to look for rows now; what held the sweep is over. */
export const wantSweep = statement<{ name: string }, { wanted_at: Date }>(
  'sweep.want',
  `insert into sluice.sweep as s (name, wanted_at)
   values ($1, clock_timestamp())
   on conflict (name) do update
   set wanted_at = clock_timestamp(), held_until = null, held_reason = null
   returning wanted_at`,
  ({ name }) => [name],
)

export interface SweepFigures {
  name: string
  now: Date
  held_until: Date | null
  held_reason: string | null
  claimed: number
  waiting: number
  quarantined: number
}

/** What is stored of some sweeps, in the order of their names. */
export const sweepFigures = statement<{ names: readonly string[] }, SweepFigures>(
  'sweep.figures',
  `select n.name, clock_timestamp() as now, s.held_reason, case when s.held_until > clock_timestamp() then s.held_until end as held_until,
     count(c.key) filter (where c.worker_id is not null)::int as claimed,
     count(c.key) filter (where c.worker_id is null and c.quarantined_at is null)::int as waiting,
     count(c.key) filter (where c.quarantined_at is not null)::int as quarantined
   from unnest($1::text[]) n(name)
   left join sluice.sweep s on s.name = n.name
   left join sluice.sweep_claim c on c.sweep = n.name
   group by n.name, s.held_reason, s.held_until
   order by n.name`,
  ({ names }) => [names],
)
