import { QueueForTests } from '../../src/store/jobs/bench.ts'
import { openStore, queueOn } from '../jobs/store-by-hand.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { openClient } from '../support/jobs.ts'
import { describeQueue } from './queue.ts'
import type { OpenTransaction, QueueStore } from './queue/place.ts'

describeQueue('jobs in the database of the application', open, {
  transactions: true,
  keys: true,
  rates: true,
  filters: true,
})

async function open(): Promise<QueueStore> {
  const db = await testDatabase()
  await db.query('create table note (text text not null); grant all on note to test_worker')
  const [database, others, owners] = [await openStore(db), await openStore(db), await openStore(db, db.url)]
  const forTests = new QueueForTests(async () => owners)
  return {
    queue: queueOn(database),
    other: queueOn(others),
    peek: {
      live: () => db.value('select count(*)::int from sluice.job'),
      async silence(workerId) {
        await db.query(`update sluice.job_claim set claimed_at = now() - interval '1 hour' where worker_id = $1`, [
          workerId,
        ])
      },
      passTime: (ms) => forTests.passTime(ms),
      begin: () => begun(db),
      async note(tx, text) {
        await tx.query('insert into note values ($1)', [text])
      },
      notes: async () => (await db.query<{ text: string }>('select text from note')).map(({ text }) => text),
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([database, others, owners].map((each) => each.close()))
      await db[Symbol.asyncDispose]()
    },
  }
}

async function begun(db: TestDatabase): Promise<OpenTransaction> {
  const tx = await openClient(db.workerUrl)
  await tx.query('begin')
  const over = async (how: 'commit' | 'rollback'): Promise<void> => {
    await tx.query(how)
    await tx.end()
  }
  return { tx, commit: () => over('commit'), rollback: () => over('rollback') }
}
