import { statement } from './statement.ts'

export interface WorkerRow {
  id: string
  host: string
  pid: number
  version: string
  operations: string[]
  jobs: string[]
  sweeps: string[]
  /** The queues of its jobs; none: all there are. */
  queues: string[]
  /** Jobs at once. */
  concurrency: number
}

/** Says that a worker is alive; the first time it also says who it is. */
export const beat = statement<WorkerRow, { id: string }>(
  'worker.beat',
  `insert into sluice.worker (id, host, pid, version, operations, jobs, queues, concurrency, sweeps)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
   on conflict (id) do update set seen_at = clock_timestamp()
   returning id`,
  (w) => [w.id, w.host, w.pid, w.version, w.operations, w.jobs, w.queues, w.concurrency, w.sweeps],
)

/** Forgets a worker that stopped. */
export const leave = statement<{ id: string }, { id: string }>(
  'worker.leave',
  `delete from sluice.worker
   where id = $1
   returning id`,
  ({ id }) => [id],
)

/** Forgets workers that died without a word some time ago. */
export const forgetSilent = statement<{ afterMs: number }, { id: string }>(
  'worker.forgetSilent',
  `delete from sluice.worker
   where seen_at < clock_timestamp() - $1 * interval '1 millisecond'
   returning id`,
  ({ afterMs }) => [afterMs],
)

/** Makes sure that history has a partition to go to, now and for some weeks. */
export const createHistoryPartitions = statement<{ weeksAhead: number }, { created: number }>(
  'history.createPartitions',
  `select sluice.create_history_partitions($1) as created`,
  ({ weeksAhead }) => [weeksAhead],
)

/** Drops the partitions of history that are older than the retention. */
export const dropHistoryPartitions = statement<{ keepDays: number }, { dropped: number }>(
  'history.dropPartitions',
  `select sluice.drop_history_partitions($1) as dropped`,
  ({ keepDays }) => [keepDays],
)
