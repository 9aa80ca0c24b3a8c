import type { ClaimedJob } from '../../jobs/queue.ts'
import type { Json } from '../../std/json.ts'
import type { StoreConnection } from '../connection.ts'
import { statement } from '../statement.ts'

/** A claimed job with what only this store has to know of it. */
export interface ClaimedRow extends ClaimedJob {
  /** Only good for one copy of the tables: the name of a queue stays. */
  queueId: number
  priority: number
  state: number
}

/** The same as the database sends it: what most jobs do not have comes only with those that have it. */
type Sent = [
  id: number,
  /** Of its name among those that were asked for, from 1. */
  place: number,
  queueId: number,
  priority: number,
  state: number,
  attempt: number,
  crashes: number,
  runAt: number,
  args: Json,
  rest?: [
    enqueuedAt: number | null,
    tags: string[] | null,
    tries: Record<string, number> | null,
    keyed: boolean,
    cancelling: string | null,
    batchId: number | null,
  ],
]

/** Where to look for ready jobs: one queue and priority, behind the last id that was seen there. */
export interface Lane {
  queueId: number
  priority: number
  floor: number
}

export interface ClaimsOrder {
  claimId: string
  workerId: string
  /** The names of the jobs that the worker knows. */
  names: readonly string[]
  queueIds: readonly number[]
  lanes: readonly Lane[]
  /** How many jobs at most. */
  limit: number
  /** How many could begin at once: more of those that were claimed when a worker died do not come. */
  free: number
  /** How many of those on which workers have died more than once. */
  suspects: number
  floor: ClaimsFloor
}

/** What a claim gives. */
export interface ClaimAnswer {
  jobs: ClaimedRow[]
  floor: ClaimsFloor
  /** The server's clock, in milliseconds since 1970. */
  serverMs: number
  /** Some name that was asked for is not in the database: it is another one than before, or a copy. */
  missing: boolean
}

/** No claim that is still there is older, in this life of the server. */
export interface ClaimsFloor {
  life: string | null
  seq: string
}

/**
 * Claims jobs for one process in one statement: first what is next in line, then what is due, then what is new, lane by
 * lane. The first two are marked in their rows. New jobs are only put on the claim's list, and found by not being on
 * any; whoever looks for them does so alone. They are looked for behind a floor, so that dead entries of an index which
 * nobody may clean up yet (an old snapshot is open) are not read again and again; from time to time the floor is zero,
 * for jobs that were committed late. The lists have a floor for the same reason.
 */
export async function claim(connection: StoreConnection, order: ClaimsOrder): Promise<ClaimAnswer> {
  const [claimed] = await claimJobs(connection, order)
  const jobs = claimed?.jobs ?? null
  const queues = JSON.parse(claimed?.queues ?? '{}') as Record<number, string>
  return {
    jobs: jobs === null ? [] : (JSON.parse(jobs) as Sent[]).map((sent) => receive(sent, order.names, queues)),
    floor: claimed === undefined ? order.floor : { life: claimed.life, seq: claimed.claims_floor },
    serverMs: claimed?.server_ms ?? 0,
    missing: claimed?.missing ?? false,
  }
}

interface ClaimRow {
  jobs: string | null
  queues: string | null
  missing: boolean
  life: string | null
  claims_floor: string
  server_ms: number
}

const claimJobs = statement<ClaimsOrder, ClaimRow>(
  'job.claim',
  `select jobs, queues, missing, life, claims_floor::text, server_ms from sluice.claim_jobs($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
  (o) => [
    o.claimId,
    o.workerId,
    o.names,
    o.queueIds,
    o.lanes.map((l) => l.queueId),
    o.lanes.map((l) => l.priority),
    o.lanes.map((l) => l.floor),
    o.limit,
    o.free,
    o.suspects,
    o.floor.life,
    o.floor.seq,
  ],
  { prepare: true },
)

function receive(sent: Sent, names: readonly string[], queues: Record<number, string>): ClaimedRow {
  const [id, place, queueId, priority, state, attempt, crashes, runAt, args, rest] = sent
  return {
    id,
    name: names[place - 1] ?? '',
    queueId,
    queue: queues[queueId] ?? '',
    priority,
    state,
    attempt,
    crashes,
    runAt: runAt * 1_000,
    enqueuedAt: rest === undefined || rest[0] === null ? null : rest[0] * 1_000,
    args,
    tags: rest?.[1] ?? null,
    tries: rest?.[2] ?? null,
    keyed: rest?.[3] ?? false,
    cancelling: rest?.[4] ?? null,
    batchId: rest?.[5] ?? null,
  }
}

/**
 * Gives back what was claimed under a nonce whose answer was lost: whether anything was is not known here, and what
 * was would wait for as long as this worker lives.
 */
export const unclaim = statement<{ claimIds: readonly string[] }, { id: number }>(
  'job.unclaim',
  `with claimed as (
     delete from sluice.job_claim
     where id = any($1::bigint[])
     returning id, job_ids
   )
   update sluice.job j
   set claim_id = null, state = 4, attempt = greatest(0, j.attempt - 1),
     enqueued_at = coalesce(j.enqueued_at, j.run_at)
   from claimed c
   cross join lateral unnest(c.job_ids) r
   where j.id >= lower(r) and j.id < upper(r) and (j.claim_id = c.id or j.state = 0)
   returning j.id`,
  ({ claimIds }) => [claimIds],
)

/** The nonces of all claims in the name of a worker. */
export const claimsOf = statement<{ workerId: string }, { id: string }>(
  'job.claimsOf',
  `select id::text from sluice.job_claim where worker_id = $1`,
  ({ workerId }) => [workerId],
)

/** A queue as workers see it. */
export interface QueueState {
  id: number
  name: string
  paused: boolean
  limited: boolean
  /** How many workers there are on jobs of any queue. */
  workers: number
}

/** Queues with jobs that could be claimed, after one of them, and after which to go on. */
export const busyQueues = statement<{ after: number; most: number }, { ids: number[]; next_after: number | null }>(
  'queue.busy',
  `select ids, next_after from sluice.busy_queues($1, $2)`,
  ({ after, most }) => [after, most],
)

/** The queues of these names (null: all there are), after those that are known were made. */
export const queueStates = statement<{ known: readonly string[]; wanted: readonly string[] | null }, QueueState>(
  'queue.states',
  `with made as (
     insert into sluice.queue (name)
     select n from unnest($1::text[]) n
     where not exists (select from sluice.queue q where q.name = n)
     order by n
     on conflict do nothing
     returning id, name
   )
   select q.*, (select count(*)::int from sluice.worker where jobs <> '{}') as workers
   from (
     select id, name, paused, rate_limit is not null as limited
     from sluice.queue
     where $2::text[] is null or name = any($2)
     union all
     select id, name, false, false from made) q`,
  ({ known, wanted }) => [known, wanted],
)

/** The classes of these names, made if they are not there, with what their definitions say of a new job. */
export const openClasses = statement<
  { classes: readonly { name: string; defaults: object }[] },
  { id: number; name: string }
>(
  'job.openClasses',
  `with given as (
     select name, defaults from jsonb_to_recordset($1::text::jsonb) g(name text, defaults jsonb)
   ), told as (
     insert into sluice.job_class as c (name, defaults)
     select name, defaults from given order by name
     on conflict (name) do update set defaults = excluded.defaults
     where c.defaults is distinct from excluded.defaults
     returning id, name
   )
   select id, name from told
   union
   select c.id, c.name from sluice.job_class c join given g on g.name = c.name`,
  ({ classes }) => [JSON.stringify(classes)],
)

/** Takes tokens of a queue with a rate limit: as many as there are, up to what is wanted. */
export const takeTokens = statement<{ queueId: number; wanted: number }, { granted: number }>(
  'queue.takeTokens',
  `with bucket as materialized (
     -- The clock of a server that has taken over may be behind: then no time has passed.
     select id, least(rate_limit, tokens
         + greatest(0, extract(epoch from clock_timestamp() - tokens_at)) * 1000 * rate_limit / rate_ms) as tokens
     from sluice.queue
     where id = $1 and rate_limit is not null
     for update
   ), taken as (
     select id, tokens, least(floor(tokens), $2)::int as granted from bucket
   )
   update sluice.queue q
   set tokens = t.tokens - t.granted, tokens_at = clock_timestamp()
   from taken t
   where q.id = t.id
   returning t.granted`,
  (p) => [p.queueId, p.wanted],
)

/** Gives back tokens for which there was no job. */
export const returnTokens = statement<{ queueId: number; count: number }, { id: number }>(
  'queue.returnTokens',
  `update sluice.queue
   set tokens = least(rate_limit, tokens + $2)
   where id = $1 and rate_limit is not null
   returning id`,
  (p) => [p.queueId, p.count],
)
