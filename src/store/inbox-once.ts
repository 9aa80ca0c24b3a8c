import type { Json } from '../std/json.ts'
import { statement } from './statement.ts'

/** What a run has given: `{ value }`; null: nothing. Without a value the run is still under way, in this transaction. */
export interface OnceRow {
  result: Json | null
}

/** The stored result, if there is one that has not expired. */
export const storedResult = statement<{ hash: string }, OnceRow>(
  'once.stored',
  `select result
   from sluice.once_result
   where hash = $1 and expires_at > clock_timestamp()`,
  ({ hash }) => [hash],
)

/**
 * Takes a key for this transaction; nothing when a result is there. Waits for whoever has it in a transaction that is
 * still open.
 */
export const takeKey = statement<{ hash: string; scope: string; key: string; keepMs: number }, { hash: string }>(
  'once.take',
  `insert into sluice.once_result as r (hash, scope, key, result, expires_at)
   values ($1, $2, $3, '{}', clock_timestamp() + $4 * interval '1 millisecond')
   on conflict (hash) do update
   set result = excluded.result, stored_at = excluded.stored_at, expires_at = excluded.expires_at
   where r.expires_at <= clock_timestamp()
   returning r.hash`,
  ({ hash, scope, key, keepMs }) => [hash, scope, key, keepMs],
)

/** Stores the result of the run that has the key. Its time counts from now. */
export const storeResult = statement<{ hash: string; result: string | null; keepMs: number }, object>(
  'once.store',
  `update sluice.once_result
   set result = $2::jsonb, stored_at = clock_timestamp(), expires_at = clock_timestamp() + $3 * interval '1 millisecond'
   where hash = $1`,
  ({ hash, result, keepMs }) => [hash, result, keepMs],
)

/** Begins a part of a transaction that can be taken back by itself. */
export const savepoint = statement<void, object>('once.savepoint', `savepoint sluice_once`, () => [])

/** Takes that part back. */
export const rollBack = statement<void, object>('once.rollBack', `rollback to savepoint sluice_once`, () => [])

/** Ends that part. */
export const release = statement<void, object>('once.release', `release savepoint sluice_once`, () => [])
