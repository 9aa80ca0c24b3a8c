import { z } from 'zod'
import { defineJob, planned, type BatchOptions, type BatchStatus, type JobDefinition } from '../../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { jobWorker, withLedger, type JobWorker } from '../../support/jobs.ts'
import { until } from '../../support/wait.ts'

const number = z.object({ n: z.number() })

/** A job that writes its name and number down, in the transaction in which it ends. */
const noted = (name: string): JobDefinition<{ n: number }> =>
  defineJob({
    name,
    args: number,
    transaction: true,
    async perform({ args, tx }) {
      await tx.query('insert into ledger (note) values ($1)', [`${name} ${args.n}`])
    },
  })

export const member: JobDefinition<{ n: number }> = noted('member')
const [succeeded, completed, died] = [noted('succeeded'), noted('completed'), noted('died')]

/** Its members are not counted one by one, but as many as end at the same moment. */
export const plain: JobDefinition<undefined> = defineJob({ name: 'plain', perform: async () => undefined })

/** Dies unless its number is in the table `gate`. */
export const gated: JobDefinition<{ n: number }> = defineJob({
  name: 'gated',
  args: number,
  transaction: true,
  retry: false,
  async perform({ args, tx }) {
    const { rows } = await tx.query('select from gate where n = $1', [args.n])
    if (rows.length === 0) throw new Error('closed')
  },
})

/** Runs until it is told to stop. */
export const endless: JobDefinition<undefined> = defineJob({
  name: 'endless',
  perform: ({ signal }) =>
    new Promise<void>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    }),
})

export const keyed: JobDefinition<{ n: number }> = defineJob({
  name: 'keyed',
  args: number,
  concurrency: { limit: 2, key: ({ n }) => `key ${n % 3}` },
  perform: async () => undefined,
})

const known: readonly JobDefinition[] = [member, succeeded, completed, died, plain, gated, endless, keyed]

/** All callbacks, which write their number down. */
export const callbacks = (n: number): BatchOptions => ({
  onSuccess: planned(succeeded, { n }),
  onComplete: planned(completed, { n }),
  onDeath: planned(died, { n }),
})

export interface Place extends AsyncDisposable {
  db: TestDatabase
  worker: JobWorker
}

/** A database with a worker that knows the jobs above, and does not work yet. */
export async function place(more: readonly JobDefinition[] = []): Promise<Place> {
  const db = await withLedger(await testDatabase())
  await db.query('create table gate (n int)')
  // Some of these wait for locks on purpose.
  const timeouts = { statement: '30s', lock: '20s', idleInTransaction: '60s' } as const
  const worker = jobWorker(db, [...known, ...more], {}, { worker: { lease: '3s' }, timeouts })
  return {
    db,
    worker,
    async [Symbol.asyncDispose]() {
      await worker[Symbol.asyncDispose]()
      await db[Symbol.asyncDispose]()
    },
  }
}

/** The batch of jobs once it is over. */
export async function over({ worker }: Place, id: number): Promise<BatchStatus> {
  const { batches } = worker.sluice
  await until(`batch of jobs ${id} is over`, async () => (await batches.get(id)).finishedAt !== null)
  return batches.get(id)
}

/** What was written down, in the order of the alphabet. */
export async function notes({ db }: Place): Promise<string[]> {
  const rows = await db.query<{ note: string }>('select note from ledger order by note')
  return rows.map(({ note }) => note)
}
