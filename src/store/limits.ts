import type { Priority } from './operations.ts'
import { statement } from './statement.ts'

/** What a person can change of an operation, as it is now. */
export interface Changeable {
  status: string
  lanes: number
  pace: number
  priority: Priority
  subBatchSize: number
  window: string | null
}

/** Locks an operation that is not over, for a change. */
export const lockOperation = statement<{ id: string }, Changeable>(
  'operation.lock',
  `select status, lanes, pace, priority, sub_batch_size as "subBatchSize", run_window as "window"
   from sluice.operation
   where id = $1
   for no key update`,
  ({ id }) => [id],
)

/** Changes limits while the operation runs; what is not given stays. */
export const set = statement<
  {
    id: string
    from: readonly string[]
    lanes?: number
    /** With `lanes`: they follow the load, up to so many. Null: they do not. */
    mostLanes?: number | null
    pace?: number
    subBatchSize?: number
    priority?: Priority
    window?: string | null
  },
  { id: string }
>(
  'operation.set',
  `update sluice.operation
   set lanes = coalesce($2, lanes), pace = coalesce($3, pace), sub_batch_size = coalesce($4, sub_batch_size),
     most_lanes = case when $2::int is null then most_lanes else $9 end, priority = coalesce($5, priority),
     run_window = case when $7 then $8 else run_window end,
     -- Whoever waits for the old window looks at the new one.
     hold_until = case when $7 and reason like 'outside its window%' then clock_timestamp() else hold_until end
   where id = $1 and status = any($6)
   returning id`,
  (p) => [
    p.id,
    p.lanes,
    p.pace,
    p.subBatchSize,
    p.priority,
    p.from,
    p.window !== undefined,
    p.window ?? null,
    p.mostLanes ?? null,
  ],
)
