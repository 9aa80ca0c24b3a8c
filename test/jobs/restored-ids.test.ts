import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { defineJob, grantsScript, Sluice } from '../../src/index.ts'
import { sqlstate } from '../../src/store/sqlstate.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { claimedJobs, drained, jobWorker, startedWorker } from '../support/jobs.ts'
import { until } from '../support/wait.ts'
import { claimByHand } from './claim-by-hand.ts'

const customer = z.object({ id: z.number() })

/** Two jobs that must never be taken for each other, and what ran. */
function twoJobs() {
  const ran: string[] = []
  const mail = defineJob({ name: 'send-mail', args: customer, perform: () => void ran.push('send-mail') })
  const erase = defineJob({ name: 'delete-customer', args: customer, perform: () => void ran.push('delete-customer') })
  return { mail, erase, ran }
}

/** What a restore may do: an older copy of the tables, in which other names have these ids. */
async function swapNames(
  db: TestDatabase,
  table: 'job_class' | 'queue',
  [one, other]: [string, string],
): Promise<void> {
  await db.query(`update sluice.${table} set name = name || '-old' where name in ($1, $2)`, [one, other])
  await db.query(
    `update sluice.${table} set name = case name when $1 || '-old' then $2 else $1 end where name like '%-old'`,
    [one, other],
  )
}

test('after the ids of two jobs have changed places, each runs its own code', async () => {
  await using db = await testDatabase()
  const { mail, erase, ran } = twoJobs()
  await using worker = await startedWorker(db, [mail, erase])
  for (const job of [mail, erase]) await worker.jobs.enqueue(job, { id: 1 })
  await worker.events.event('job.finished', { nth: 2 })
  await swapNames(db, 'job_class', ['send-mail', 'delete-customer'])

  // By SQL, as from a process that has started since.
  await db.query(`select sluice.enqueue('{"job": "send-mail", "args": {"id": 7}}')`)
  expect(await worker.events.event('job.finished', { nth: 3 })).toMatchObject({ name: 'send-mail' })

  expect(ran).toEqual(['send-mail', 'delete-customer', 'send-mail'])
})

test('after the ids of two jobs have changed places, what is enqueued has its own name', async () => {
  await using db = await testDatabase()
  const { mail, erase } = twoJobs()
  await using client = jobWorker(db, [mail, erase])
  for (const job of [mail, erase]) await client.jobs.enqueue(job, { id: 1 })
  await db.query('delete from sluice.job')
  await swapNames(db, 'job_class', ['send-mail', 'delete-customer'])

  await client.jobs.enqueue(mail, { id: 7 })
  await client.jobs.enqueueMany(mail, [{ id: 8 }, { id: 9 }])

  const names = await db.query('select distinct c.name from sluice.job j join sluice.job_class c on c.id = j.class_id')
  expect(names).toEqual([{ name: 'send-mail' }])
})

/** Drops our schema under a worker. Both lock many tables, and the server lets one of them begin anew. */
async function dropSchema(db: TestDatabase): Promise<void> {
  await until('the schema is dropped', async () =>
    db.query('drop schema sluice cascade').then(
      () => true,
      (error: unknown) => {
        if (sqlstate(error) !== '40P01') throw error
        return false
      },
    ),
  )
}

test('jobs go on after the schema was dropped and made anew under a worker', async () => {
  await using db = await testDatabase()
  const { mail, erase, ran } = twoJobs()
  await using worker = await startedWorker(db, [mail, erase])
  for (const job of [mail, erase]) await worker.jobs.enqueue(job, { id: 1 })
  await worker.events.event('job.finished', { nth: 2 })
  await dropSchema(db)
  await using owner = new Sluice({ database: db.url })
  await owner.migrate()
  await db.query(grantsScript('sluice'))

  // In the other order: each gets the id that the other had.
  await until('it is enqueued', async () =>
    worker.jobs.enqueue(erase, { id: 7 }).then(
      () => true,
      () => false,
    ),
  )
  await worker.jobs.enqueue(mail, { id: 7 })
  await drained(db)

  expect(ran).toEqual(['send-mail', 'delete-customer', 'delete-customer', 'send-mail'])
  await until('the database knows the definitions again', async () =>
    db.value(
      `select count(*) = 2 from sluice.job_class where defaults ? 'queue' and name in ('send-mail', 'delete-customer')`,
    ),
  )
})

test('after the ids of two queues have changed places, a worker runs nothing of the queue that is not its own', async () => {
  await using db = await testDatabase()
  const { mail } = twoJobs()
  await using worker = await startedWorker(db, [mail], { queues: ['mine'] })
  await worker.jobs.enqueue(mail, { id: 1 }, { queue: 'mine' })
  await worker.events.event('job.finished')
  await db.query(`insert into sluice.queue (name) values ('theirs')`)
  const now = performance.now()
  // Nothing is looked up again while this clock stands still.
  using _still = vi.spyOn(performance, 'now').mockImplementation(() => now)
  await swapNames(db, 'queue', ['mine', 'theirs'])
  const theirs = await worker.jobs.enqueue(mail, { id: 2 }, { queue: 'theirs' })
  const mine = await worker.jobs.enqueue(mail, { id: 3 }, { queue: 'mine' })

  expect(await worker.events.event('job.finished', { nth: 2 })).toMatchObject({ jobId: mine.id, queue: 'mine' })

  await until('it has given back what is not its own', async () => (await claimedJobs(db)) === 0)
  expect(await db.query('select id::int, attempt from sluice.job')).toEqual([{ id: theirs.id, attempt: 0 }])
  expect(worker.events.payloads('job.started').map(({ jobId }) => jobId)).not.toContain(theirs.id)
})

/** A claim of a worker that is gone, as an older copy of the tables has it, on the list of which is this job. */
const claimOfTheCopy = (db: TestDatabase, id: number): Promise<object[]> =>
  db.query(
    `insert into sluice.job_claim (id, seq, worker_id, job_ids) overriding system value
     values (99, 1, gen_random_uuid(), int8multirange(int8range($1, $1, '[]')))`,
    [id],
  )

test.each([
  ['the table of claims was made anew', 'truncate sluice.job_claim'],
  [
    'numbers of claims are given out again',
    'delete from sluice.job_claim; alter sequence sluice.job_claim_seq_seq restart with 2',
  ],
])('what a worker remembers of claims counts for nothing when %s', async (_, restore) => {
  await using db = await testDatabase()
  const { mail } = twoJobs()
  await using client = jobWorker(db, [mail])
  await client.jobs.enqueue(mail, { id: 1 })
  const first = await claimByHand(db.workerUrl, 1)
  await db.query('delete from sluice.job; delete from sluice.job_claim')
  await client.jobs.enqueue(mail, { id: 2 })
  await claimByHand(db.workerUrl, 2, first)
  await db.query('delete from sluice.job; delete from sluice.job_claim')
  await client.jobs.enqueue(mail, { id: 3 })
  const remembered = await claimByHand(db.workerUrl, 3, first)
  expect(remembered.floor).toBe('3')
  await db.query('delete from sluice.job; delete from sluice.job_claim')
  const { id } = await client.jobs.enqueue(mail, { id: 4 })
  await db.query(restore)
  await claimOfTheCopy(db, id)

  expect((await claimByHand(db.workerUrl, 4, remembered)).ids).toEqual([])
})
