// A handler that ends the transaction in which its changes and the end of its job were to be committed together.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineInbox, defineJob } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { drained, jobWorker, startedWorker, withLedger } from '../support/jobs.ts'

const note = `insert into ledger (note) values ('noted')`
const ended = { code: 'DEFINITION_INVALID', message: expect.stringContaining('has ended the transaction') as string }

test.each([
  ['commit', ['commit'], 1],
  ['rollback', ['rollback'], 0],
  ['a new transaction', ['commit; begin'], 1],
  ['a new transaction, step by step', ['rollback', 'begin'], 0],
  ['commit and chain', ['commit and chain'], 1],
  ['rollback and chain', ['rollback and chain'], 0],
  ['end', ['end'], 1],
])('a job fails and says why when its handler ends the transaction by %s', async (_, statements, kept) => {
  await using db = await withLedger(await testDatabase())
  const ends = defineJob({
    name: 'ends',
    transaction: true,
    retry: false,
    async perform({ tx }) {
      await tx.query(note, [])
      for (const statement of statements) await tx.query(statement, [])
    },
  })
  await using worker = await startedWorker(db, [ends])
  const { id } = await worker.jobs.enqueue(ends)

  await drained(db)
  expect(await worker.jobs.get(id)).toMatchObject({ state: 'dead', error: ended })
  // What was committed is there once.
  expect(await db.value('select count(*)::int from ledger')).toBe(kept)
})

test('what a handler sends after it has ended the transaction is refused', async () => {
  await using db = await withLedger(await testDatabase())
  const ends = defineJob({
    name: 'ends',
    transaction: true,
    retry: false,
    async perform({ tx }) {
      await tx.query('rollback', [])
      await tx.query(note, [])
    },
  })
  await using worker = await startedWorker(db, [ends])
  const { id } = await worker.jobs.enqueue(ends)

  await drained(db)
  expect(await worker.jobs.get(id)).toMatchObject({ state: 'dead', error: ended })
  expect(await db.value('select count(*)::int from ledger')).toBe(0)
})

test('a handler may go back to a savepoint', async () => {
  await using db = await withLedger(await testDatabase())
  const careful = defineJob({
    name: 'careful',
    transaction: true,
    async perform({ tx }) {
      await tx.query(note, [])
      await tx.query('savepoint here', [])
      await tx.query(note, [])
      await tx.query('rollback to savepoint here', [])
      await tx.query(`savepoint there; ${note}; rollback to there`, [])
    },
  })
  await using worker = await startedWorker(db, [careful])
  await worker.jobs.enqueue(careful)

  await worker.events.event('job.finished')
  expect(await db.value('select count(*)::int from ledger')).toBe(1)
})

test('a message is not taken for processed when its handler ends the transaction', async () => {
  await using db = await withLedger(await testDatabase())
  const renewals = defineInbox({
    name: 'renewals',
    payload: z.object({ id: z.string() }),
    key: ({ id }) => id,
    retry: { attempts: 1 },
    perform: async ({ tx }) => void (await tx.query('rollback', [])),
  })
  await using worker = await startedWorker(db, [], {}, { inboxes: [renewals] })
  await worker.sluice.inboxes.receive(renewals, { id: '7' })

  await drained(db)
  expect(await db.value(`select error from sluice.job_dead`)).toMatchObject(ended)
})

test('once fails and stores no result when its work ends the transaction', async () => {
  await using db = await withLedger(await testDatabase())
  await using client = jobWorker(db, [])
  const work = client.sluice.once('a key', async ({ tx }) => {
    await tx.query(note, [])
    await tx.query('rollback', [])
    return 'done'
  })

  await expect(work).rejects.toMatchObject(ended)
  expect(await client.sluice.once('a key', () => 'done again')).toBe('done again')
})
