import type { JobFilter } from '../../jobs/query.ts'
import type { QueueReads } from '../../jobs/queue.ts'
import { endedJobStates, liveJobStates, type JobAttempt, type QueueStatus, type StoredJob } from '../../jobs/status.ts'
import { onConnection, type StoreConnection } from '../connection.ts'
import { failureGroups, unmovedSteps } from './failures.ts'
import * as lists from './lists.ts'
import * as views from './views.ts'

/** What looks at jobs, queues and keys, by name. */
export const reads: {
  [K in keyof QueueReads]: (
    connection: StoreConnection,
    query: QueueReads[K]['query'],
  ) => Promise<QueueReads[K]['found']>
} = {
  job: async (connection, query) => storedJob(await views.findJob(connection, query)),
  attempts: async (connection, { id, enqueuedAt: enqueued_at, finishedAt: finished_at }) =>
    (await views.attemptsOf(connection, { id, enqueued_at, finished_at })).map(attemptOf),
  jobs: async (connection, filter) => (await listerOf(filter).list(connection, filter)).map((view) => storedJob(view)),
  count: async (connection, filter) => (await listerOf(filter).count(connection, filter))[0]?.jobs ?? 0,
  failures: async (connection, query) => failureGroups(connection, query),
  keys: async (connection, query) => views.listLocks(connection, query),
  queues: async (connection) => (await views.listQueues(connection)).map(statusOf),
  live: async ({ schema }, { id, tx }) => (await views.isLive(onConnection(tx, schema), { id }))[0]?.live === true,
  dead: async (connection, query) => views.deadAmong(connection, query),
  unmoved: async (connection, query) => unmovedSteps(connection, query),
}

/** Unfinished jobs, succeeded ones and other ends are kept in different tables. */
function listerOf({ states }: JobFilter): { list: typeof lists.listLive; count: typeof lists.countLive } {
  const [state] = states
  if (state === endedJobStates[0]) return { list: lists.listDone, count: lists.countDone }
  return liveJobStates.some((live) => live === state)
    ? { list: lists.listLive, count: lists.countLive }
    : { list: lists.listDead, count: lists.countDead }
}

function storedJob(view: views.JobView): StoredJob
function storedJob(view: views.JobView | undefined): StoredJob | undefined
function storedJob(view: views.JobView | undefined): StoredJob | undefined {
  if (view === undefined) return undefined
  return {
    id: view.id,
    name: view.name,
    queue: view.queue,
    state: view.state,
    parked: view.parked,
    priority: view.priority,
    attempt: view.attempt,
    crashes: view.crashes,
    args: view.args,
    tags: view.tags ?? [],
    key: view.key,
    workerId: view.worker_id,
    reason: view.reason,
    error: view.error,
    enqueuedAt: view.enqueued_at,
    runAt: view.run_at,
    finishedAt: view.finished_at,
    waitMs: view.wait_ms,
    runMs: view.run_ms,
    cursor: view.cursor,
  }
}

function attemptOf(view: views.AttemptView): JobAttempt {
  const { attempt, verdict, reason, error, at, next_at: nextAt, run_ms: runMs, worker_id: workerId } = view
  return { attempt, verdict, reason, error, at, nextAt, runMs, workerId }
}

function statusOf(view: views.QueueView): QueueStatus {
  const { name, paused, paused_by: pausedBy, rate_limit: limit, rate_ms: perMs } = view
  const { waiting, scheduled, blocked, running, parked, estimated, oldest_ms: oldestMs } = view
  const rate = limit === null || perMs === null ? null : { limit, perMs }
  return { name, paused, pausedBy, rate, waiting, scheduled, blocked, running, parked, estimated, oldestMs }
}
