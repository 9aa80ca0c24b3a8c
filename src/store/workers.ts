import type { StoreConnection } from './connection.ts'
import { isAnyMissing, isAnyOlder } from './partitions.ts'
import { statement } from './statement.ts'

export interface WorkerRow {
  id: string
  host: string
  pid: number
  version: string
  operations: string[]
  jobs: string[]
  sweeps: string[]
  /** The schedules that it keeps, each with its rule and zone: see store/schedules.ts. */
  rules?: string[]
  /** The queues of its jobs; none: all there are. */
  queues: string[]
  /** Jobs at once. */
  concurrency: number
}

/** How a worker fares. */
export interface Vitals {
  memoryBytes: number
  /** How late its event loop was at the worst since the last sign of life. */
  loopLagMs: number
}

/** Says that a worker is alive; the first time it also says who it is. Gives whether somebody has asked it to end. */
export const beat = statement<WorkerRow & Partial<Vitals>, { id: string; draining: boolean }>(
  'worker.beat',
  `insert into sluice.worker (id, host, pid, version, operations, jobs, queues, concurrency, sweeps, memory_bytes,
     loop_lag_ms, rules)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
   on conflict (id) do update
   set seen_at = clock_timestamp(), memory_bytes = excluded.memory_bytes, loop_lag_ms = excluded.loop_lag_ms
   returning id, drain_since is not null as draining`,
  (w) => [
    w.id,
    w.host,
    w.pid,
    w.version,
    w.operations,
    w.jobs,
    w.queues,
    w.concurrency,
    w.sweeps,
    w.memoryBytes ?? null,
    w.loopLagMs ?? null,
    w.rules ?? [],
  ],
)

/** Asks a worker to end. A process that starts anew has another id, so it is not meant. Gives nothing when it is gone. */
export const askToDrain = statement<{ id: string; actor: string | null }, { id: string; asked: boolean }>(
  'worker.askToDrain',
  `with asked as (
     update sluice.worker
     set drain_since = clock_timestamp(), drain_by = $2
     where id = $1 and drain_since is null
     returning id
   )
   select id, true as asked from asked
   union all
   select id, false from sluice.worker
   where id = $1 and not exists (select from asked)`,
  (p) => [p.id, p.actor],
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

const weeks = { tables: ['operation_history', 'batch_history', 'quarantine', 'transition'], unit: 'week' } as const
const weeksAhead = 4

/** Makes sure that history has a partition to go to, now and for some weeks. */
export async function createHistoryPartitions(connection: StoreConnection): Promise<void> {
  const [look] = await isAnyMissing(connection, { ...weeks, ahead: weeksAhead })
  if (look?.missing === true) await createWeeks(connection)
}

const createWeeks = statement<void, { created: number }>(
  'history.createPartitions',
  `select sluice.create_history_partitions($1) as created`,
  () => [weeksAhead],
)

/** Forgets summaries of operations that are older than the retention, some at a time. */
export const forgetSummaries = statement<{ keepDays: number; most: number }, { forgotten: number }>(
  'history.forgetSummaries',
  `select sluice.forget_summaries($1, $2) as forgotten`,
  (p) => [p.keepDays, p.most],
)

/** Drops the partitions of history that are older than the retention. */
export async function dropHistoryPartitions(connection: StoreConnection, kept: { keepDays: number }): Promise<void> {
  const [look] = await isAnyOlder(connection, { ...weeks, ...kept })
  if (look?.older === true) await dropWeeks(connection, kept)
}

const dropWeeks = statement<{ keepDays: number }, { dropped: number }>(
  'history.dropPartitions',
  `select sluice.drop_history_partitions($1) as dropped`,
  ({ keepDays }) => [keepDays],
)
