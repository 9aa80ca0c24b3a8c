import type { ErrorRecord } from '../std/error-record.ts'
import { freeJson } from './free-text.ts'
import { list, statement } from './statement.ts'

/** Who runs an interval of which reconciler. */
export interface ReconcilerClaim {
  name: string
  everyMs: number
  nonce: string
}

/** What a run has done so far. */
export interface ReconcilerCount {
  found: number
  enqueued: number
}

interface Due {
  names: readonly string[]
  everyMs: readonly number[]
  nonce: string
  workerId: string
}

/** Makes the rows that are missing: such a reconciler is due. */
export const register = statement<Pick<Due, 'names'>, object>(
  'reconciler.register',
  `insert into sluice.reconciler (name, next_at)
   select k.name, clock_timestamp()
   from unnest($1::text[]) k(name)
   where not exists (select from sluice.reconciler r where r.name = k.name)
   order by k.name
   on conflict (name) do nothing`,
  ({ names }) => [names],
)

/** Takes one reconciler that is due: moving its next moment on decides who runs the interval. */
export const take = statement<Due, { name: string }>(
  'reconciler.take',
  `with known as (
     select k.name, k.every_ms
     from unnest($1::text[], $2::float8[]) k(name, every_ms)
   ), due as (
     select r.name, k.every_ms
     from sluice.reconciler r
     join known k on k.name = r.name
     where r.next_at <= clock_timestamp()
     order by r.next_at
     limit 1
     for update of r skip locked
   )
   update sluice.reconciler r
   set next_at = clock_timestamp() + due.every_ms * interval '1 millisecond', nonce = $3, worker_id = $4,
     started_at = clock_timestamp(), finished_at = null, found = 0, enqueued = 0, error = null
   from due
   where r.name = due.name and r.next_at <= clock_timestamp()
   returning r.name`,
  (p) => [p.names, list(p.everyMs), p.nonce, p.workerId],
)

/** Takes a reconciler whether it is due or not; a run that is under way ends with its next page. */
export const takeNow = statement<ReconcilerClaim, { name: string }>(
  'reconciler.takeNow',
  `insert into sluice.reconciler (name, next_at, nonce, started_at)
   values ($1, clock_timestamp() + $2::float8 * interval '1 millisecond', $3, clock_timestamp())
   on conflict (name) do update
   set next_at = excluded.next_at, nonce = excluded.nonce, worker_id = null, started_at = excluded.started_at,
     finished_at = null, found = 0, enqueued = 0, error = null
   returning name`,
  (p) => [p.name, p.everyMs, p.nonce],
)

/** Says that a run goes on. No row: it belongs to another. */
export const hold = statement<ReconcilerClaim & ReconcilerCount, { name: string }>(
  'reconciler.hold',
  `update sluice.reconciler
   set next_at = greatest(next_at, clock_timestamp() + $3::float8 * interval '1 millisecond'), found = $4, enqueued = $5
   where name = $1 and nonce = $2
   returning name`,
  (p) => [p.name, p.nonce, p.everyMs, p.found, p.enqueued],
)

/** Ends a run. No row: it belongs to another. */
export const finish = statement<ReconcilerClaim & ReconcilerCount & { error: ErrorRecord | null }, { name: string }>(
  'reconciler.finish',
  `update sluice.reconciler
   set nonce = null, finished_at = clock_timestamp(), found = $3, enqueued = $4, error = $5
   where name = $1 and nonce = $2
   returning name`,
  (p) => [p.name, p.nonce, p.found, p.enqueued, p.error === null ? null : freeJson(p.error)],
)

/** A reconciler as it stands. */
export interface ReconcilerView {
  name: string
  next_at: Date
  started_at: Date | null
  finished_at: Date | null
  running: boolean
  found: number
  enqueued: number
  error: ErrorRecord | null
}

export const listReconcilers = statement<void, ReconcilerView>(
  'reconciler.list',
  `select name, next_at, started_at, finished_at, nonce is not null and next_at > clock_timestamp() as running, found,
     enqueued, error
   from sluice.reconciler
   order by name`,
  () => [],
)
