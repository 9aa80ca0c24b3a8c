import type { JobDefinition } from '../../src/index.ts'
import { Claims } from '../../src/jobs/claims.ts'
import { Registry } from '../../src/runtime/registry.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
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

/** Takes jobs as a worker does, and does nothing with them. */
export async function takerOf(
  database: Database,
  jobs: JobDefinition[],
): Promise<(limit?: number) => Promise<number[]>> {
  const claims = new Claims({ database, registry: new Registry('job', jobs), weights: undefined })
  await claims.open()
  const order = { workerId: crypto.randomUUID(), suspects: 1, hinted: false }
  return async (limit = 10) => {
    const taken: number[] = []
    await claims.take({ ...order, limit, free: limit }, ({ jobs: some }) => taken.push(...some.map(({ id }) => id)))
    return taken
  }
}
