import type { JobDefinition } from '../../src/index.ts'
import type { Claimed, ClaimOrder, KnownJob, QueueWorker } from '../../src/jobs/queue.ts'
import { Condition } from '../../src/std/condition.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { Claimer } from '../../src/store/jobs/claimer.ts'
import { PostgresQueue } from '../../src/store/jobs/postgres-queue.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import type { TestDatabase } from '../support/database.ts'

/** Longer than any test waits for a lock by intention. */
const timeouts = { statementMs: 60_000, lockMs: 60_000, idleInTransactionMs: 60_000 }

/** For a worker that nobody may take for dead, and that waits for locks as long as the test wants. */
export const patient = {
  worker: { lease: '10m', noProgress: '20m' },
  timeouts: { statement: '1m', lock: '1m', idleInTransaction: '1m' },
} as const

/** The database as a worker opens it, for tests that call the store themselves. */
export async function openStore({ workerUrl }: TestDatabase, url = workerUrl): Promise<Database> {
  return openDatabase({ url, schema: 'sluice', workSize: 2, timeouts })
}

/** A worker that knows these jobs, as a queue sees it. */
export function workerOf(jobs: readonly KnownJob[], more: Partial<QueueWorker> = {}): QueueWorker {
  return { workerId: crypto.randomUUID(), jobs, weights: undefined, idle: false, hint: new Condition(), ...more }
}

/** The queue of a database, for tests that call it themselves. */
export function queueOn(database: Database, telemetry = new Telemetry()): PostgresQueue {
  return new PostgresQueue({ database: async () => database, telemetry })
}

/** One look for jobs: what it claimed, and what it left. */
export async function takenBy(
  claimer: Claimer,
  order: ClaimOrder,
): Promise<{ claims: Claimed[]; ids: number[]; left: string }> {
  const claims: Claimed[] = []
  const taking = claimer.take(order)
  let next = await taking.next()
  for (; next.done !== true; next = await taking.next()) claims.push(next.value)
  return { claims, ids: claims.flatMap(({ jobs }) => jobs.map(({ id }) => id)), left: next.value }
}

/** Takes jobs as a worker does, and does nothing with them. */
export async function takerOf(
  database: Database,
  jobs: JobDefinition[],
): Promise<(limit?: number) => Promise<number[]>> {
  const claimer = new Claimer(database, workerOf(jobs))
  await claimer.open()
  return async (limit = 10) => (await takenBy(claimer, { limit, free: limit, suspects: 1, hinted: false })).ids
}
