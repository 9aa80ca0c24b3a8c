import { statement } from './statement.ts'

/** No operation works: who said so, why, and since when. */
export interface Standstill {
  reason: string | null
  actor: string | null
  since: Date
}

/**
 * Stops all work on operations. Who says it again changes reason and name (`again`); it lasts since it was first said.
 */
export const stopAll = statement<{ reason: string | null; actor: string | null }, Standstill & { again: boolean }>(
  'standstill.stopAll',
  `insert into sluice.standstill (reason, actor)
   values ($1, $2)
   on conflict (only_one) do update
   set reason = excluded.reason, actor = excluded.actor
   returning reason, actor, since, xmax <> 0 as again`,
  (p) => [p.reason, p.actor],
)

/** Lets work go on; gives what has ended, or nothing when there was no standstill. */
export const endStandstill = statement<void, Standstill>(
  'standstill.end',
  `delete from sluice.standstill
   returning reason, actor, since`,
  () => [],
)

export const findStandstill = statement<void, Standstill>(
  'standstill.find',
  `select reason, actor, since
   from sluice.standstill`,
  () => [],
)
