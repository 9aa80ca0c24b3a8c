import { z } from 'zod'
// In your own project this line is: import { defineJob, defineReconciler, sql } from 'sluice'
import { defineJob, defineReconciler, sql } from '../../src/index.ts'
import { provider } from './provider.ts'

/** Makes a database that is still pending. Safe to run twice, also at the same time. */
export const createDatabase = defineJob({
  name: 'create-database',
  args: z.object({ databaseId: z.number().int() }),
  transaction: true,
  // Layer 1: leaves when there is nothing to do any more. Asked before the effect, and again under the lock.
  guard: async ({ args, db }) => {
    const { rows } = await db.query(`select from databases where id = $1 and state = 'pending'`, [args.databaseId])
    return rows.length === 1
  },
  // Layer 2: who comes second waits, and then sees what the first one did.
  lock: { table: 'databases', key: ({ databaseId }) => databaseId },
  // Layer 3: the queue holds one per database.
  unique: { for: '10m', until: 'start' },
  // Outside of any transaction, at least once. The key is that of the record: it outlives the job and the queue.
  async effect({ args: { databaseId } }) {
    return provider.create(`db-${databaseId}`, { idempotencyKey: `create-database:${databaseId}` })
  },
  async perform({ args: { databaseId }, tx, effect: host }) {
    await tx.query(`update databases set state = 'ready', host = $2, updated_at = now() where id = $1`, [
      databaseId,
      host,
    ])
  },
})

/** Enqueues what is pending for longer than it should be, whatever became of its job. */
export const pendingDatabases = defineReconciler({
  name: 'pending-databases',
  find: { table: 'databases', where: sql`state = 'pending'`, olderThan: '2m', by: 'updated_at' },
  job: createDatabase,
  args: (row) => ({ databaseId: Number(row['id']) }),
  every: '1m',
  jitter: '30s',
})
