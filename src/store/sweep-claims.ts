import type { ErrorRecord } from '../std/error-record.ts'
import { freeJson, FreeText } from './free-text.ts'
import { statement } from './statement.ts'

/** A key as the database writes it, one text per column. */
export type RowKey = readonly string[]

/** Whose claims: of one sweep, by one worker, under one nonce. */
export interface ClaimOwner {
  sweep: string
  workerId: string
  nonce: string
}

const keysOf = (keys: readonly RowKey[]): string => JSON.stringify(keys)

/** Records new claims; gives the keys of those that nobody else has. */
export const insertClaims = statement<
  ClaimOwner & { rows: readonly { key: RowKey; generation: string; version: string | null }[] },
  { key: string[] }
>(
  'sweep.insertClaims',
  `insert into sluice.sweep_claim (sweep, key, generation, version, nonce, worker_id)
   select $1, array(select jsonb_array_elements_text(r -> 'key')), (r ->> 'generation')::uuid, r ->> 'version', $3, $2
   from jsonb_array_elements($4::jsonb) r
   on conflict do nothing
   returning key`,
  ({ sweep, workerId, nonce, rows }) => [sweep, workerId, nonce, JSON.stringify(rows)],
)

export interface OfferedRow {
  key: string[]
  generation: string
  version: string | null
  nonce: string
  /** The worker that has gone silent over it; null: it waits for another attempt. */
  worker_id: string | null
  attempts: number
  crashes: number
}

/** Rows that wait for another attempt, or for somebody in place of a worker that is silent. Locks nothing. */
export const offeredClaims = statement<{ sweep: string; leaseMs: number; limit: number }, OfferedRow>(
  'sweep.offered',
  `(select key, generation, version, nonce, worker_id, attempts, crashes
    from sluice.sweep_claim c
    where c.sweep = $1 and c.worker_id is not null
      and c.claimed_at < clock_timestamp() - $2 * interval '1 millisecond'
      and not exists (select from sluice.worker w where w.id = c.worker_id
                        and w.seen_at > clock_timestamp() - $2 * interval '1 millisecond')
    limit $3)
   union all
   (select key, generation, version, nonce, worker_id, attempts, crashes
    from sluice.sweep_claim c
    where c.sweep = $1 and c.worker_id is null and c.quarantined_at is null and c.retry_at <= clock_timestamp()
    order by c.retry_at
    limit $3)`,
  ({ sweep, leaseMs, limit }) => [sweep, leaseMs, limit],
)

/** Puts a new claim in place of the one that was seen (`was`); gives the keys where it still was there. */
export const takeOverClaims = statement<
  ClaimOwner & { rows: readonly (Omit<OfferedRow, 'nonce' | 'worker_id'> & { was: string })[] },
  { key: string[] }
>(
  'sweep.takeOver',
  `update sluice.sweep_claim c
   set nonce = $3, worker_id = $2, claimed_at = clock_timestamp(), generation = (r ->> 'generation')::uuid,
     version = r ->> 'version', attempts = (r ->> 'attempts')::smallint, crashes = (r ->> 'crashes')::smallint
   from jsonb_array_elements($4::jsonb) r
   where c.sweep = $1
     and c.key = array(select jsonb_array_elements_text(r -> 'key'))
     and c.nonce = (r ->> 'was')::uuid
     and c.quarantined_at is null
   returning c.key`,
  ({ sweep, workerId, nonce, rows }) => [sweep, workerId, nonce, JSON.stringify(rows)],
)

/** Locks claims that are still the owner's, and gives their keys. */
export const holdingClaims = statement<ClaimOwner & { keys: readonly RowKey[] }, { key: string[] }>(
  'sweep.holding',
  `select key
   from sluice.sweep_claim
   where sweep = $1 and worker_id = $2 and nonce = $3
     and key in (select array(select jsonb_array_elements_text(k)) from jsonb_array_elements($4::jsonb) k)
   order by key
   for update`,
  ({ sweep, workerId, nonce, keys }) => [sweep, workerId, nonce, keysOf(keys)],
)

/** Ends claims, whoever works on them: the rows are finalised, or not to be swept any more. */
export const forgetClaims = statement<
  { sweep: string; rows: readonly { key: RowKey; nonce: string }[] },
  { key: string[] }
>(
  'sweep.forget',
  `delete from sluice.sweep_claim c
   using jsonb_array_elements($2::jsonb) r
   where c.sweep = $1
     and c.key = array(select jsonb_array_elements_text(r -> 'key'))
     and c.nonce = (r ->> 'nonce')::uuid
   returning c.key`,
  ({ sweep, rows }) => [sweep, JSON.stringify(rows)],
)

/** A row whose attempt failed, and when the next one may begin; never, when it is isolated. */
export interface FailedRow {
  key: RowKey
  error: ErrorRecord
  delayMs: number
  quarantine: boolean
}

/** Their errors are words for people; their keys must stay what they are. */
const failures = (rows: readonly FailedRow[]): FreeText =>
  new FreeText((plain) =>
    JSON.stringify(rows.map((row) => ({ ...row, error: JSON.parse(plain(JSON.stringify(row.error))) as ErrorRecord }))),
  )

/** Records failed attempts of claims that are still the owner's. */
export const failClaims = statement<ClaimOwner & { rows: readonly FailedRow[] }, { key: string[] }>(
  'sweep.fail',
  `update sluice.sweep_claim c
   set worker_id = null, attempts = c.attempts + 1, error = r -> 'error',
     retry_at = clock_timestamp() + (r ->> 'delayMs')::float8 * interval '1 millisecond',
     quarantined_at = case when (r ->> 'quarantine')::boolean then clock_timestamp() end
   from jsonb_array_elements($4::jsonb) r
   where c.sweep = $1 and c.worker_id = $2 and c.nonce = $3
     and c.key = array(select jsonb_array_elements_text(r -> 'key'))
   returning c.key`,
  ({ sweep, workerId, nonce, rows }) => [sweep, workerId, nonce, failures(rows)],
)

/** Isolates a row that cannot be taken over, if its claim is still the one that was seen. `died`: so did its worker. */
export const quarantineClaim = statement<
  { sweep: string; key: RowKey; nonce: string; error: ErrorRecord; died: boolean },
  { key: string[] }
>(
  'sweep.quarantineClaim',
  `update sluice.sweep_claim
   set worker_id = null, crashes = crashes + $5::boolean::int, error = $4, quarantined_at = clock_timestamp()
   where sweep = $1
     and key = array(select jsonb_array_elements_text($2::jsonb))
     and nonce = $3
     and quarantined_at is null
   returning key`,
  ({ sweep, key, nonce, error, died }) => [sweep, JSON.stringify(key), nonce, freeJson(error), died],
)

/** Gives rows back that are still the owner's, to be offered again at once. */
export const releaseClaims = statement<ClaimOwner & { keys: readonly RowKey[] }, { key: string[] }>(
  'sweep.release',
  `update sluice.sweep_claim
   set worker_id = null, retry_at = clock_timestamp()
   where sweep = $1 and worker_id = $2 and nonce = $3
     and key in (select array(select jsonb_array_elements_text(k)) from jsonb_array_elements($4::jsonb) k)
   returning key`,
  ({ sweep, workerId, nonce, keys }) => [sweep, workerId, nonce, keysOf(keys)],
)

/** Gives back all that a worker has of a sweep, under whichever nonce: for one that works on nothing. */
export const releaseAllClaims = statement<{ sweep: string; workerId: string }, { key: string[] }>(
  'sweep.releaseAll',
  `update sluice.sweep_claim
   set worker_id = null, retry_at = clock_timestamp()
   where sweep = $1 and worker_id = $2
   returning key`,
  ({ sweep, workerId }) => [sweep, workerId],
)

export interface QuarantinedRow {
  key: string[]
  error: ErrorRecord | null
  attempts: number
  crashes: number
  quarantined_at: Date
}

/** Isolated rows of a sweep, latest first. */
export const quarantinedClaims = statement<{ sweep: string; limit: number }, QuarantinedRow>(
  'sweep.quarantined',
  `select key, error, attempts, crashes, quarantined_at
   from sluice.sweep_claim
   where sweep = $1 and quarantined_at is not null
   order by quarantined_at desc, key
   limit $2`,
  ({ sweep, limit }) => [sweep, limit],
)

/** Offers isolated rows again, as if they had never failed: one, or all of the sweep. */
export const retryClaims = statement<{ sweep: string; key: RowKey | null }, { key: string[] }>(
  'sweep.retry',
  `update sluice.sweep_claim
   set quarantined_at = null, attempts = 0, crashes = 0, retry_at = clock_timestamp()
   where sweep = $1 and quarantined_at is not null
     and ($2::jsonb is null or key = array(select jsonb_array_elements_text($2::jsonb)))
   returning key`,
  ({ sweep, key }) => [sweep, key === null ? null : JSON.stringify(key)],
)
