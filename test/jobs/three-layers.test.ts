// The table of docs/guide/idempotent-jobs.md, cell by cell: each layer alone, against each way in which work is done
// twice. Where two must meet, they meet at a gate that opens when both are there or one is seen to wait for the other.
import { EventEmitter, once } from 'node:events'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, Sluice, type Connection, type JobDefinition } from '../../src/index.ts'
import { testJobs } from '../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { drained, openClient, startedWorker } from '../support/jobs.ts'
import { until } from '../support/wait.ts'

type Layer = 'none' | 'guard' | 'lock' | 'unique' | 'all'
type Work = (context: { tx: Connection; attempt: number }) => Promise<void>

let db: TestDatabase

beforeAll(async () => {
  db = await testDatabase()
  await db.query(`
    create table accounts (id int primary key, credits int not null default 0);
    -- Beside the row that is locked, so that the state can also be written outside of the transaction.
    create table states (state text not null);
    create table done (account_id int not null)`)
})
afterAll(() => db[Symbol.asyncDispose]())
beforeEach(async () => {
  await db.query('truncate accounts, states, done, sluice.job, sluice.job_lock, sluice.job_claim')
  await db.query(`insert into accounts (id) values (1); insert into states values ('pending')`)
})

const args = { accountId: 1 }

/** The same job with one layer, with none, or with all of them. */
function job(layer: Layer, work: Work): JobDefinition<typeof args> {
  const has = (one: Layer): boolean => layer === one || layer === 'all'
  return defineJob({
    name: 'activate',
    args: z.object({ accountId: z.number() }),
    transaction: true,
    retry: { attempts: 2, wait: '1ms' },
    ...(has('unique') ? { unique: { for: '1h', until: 'start' } } : {}),
    ...(has('lock') ? { lock: { table: 'accounts', key: ({ accountId }) => accountId, wait: '60s' } } : {}),
    ...(has('guard') ? { guard: ({ db: asked }) => isPending(asked) } : {}),
    perform: ({ tx, job: { attempt } }) => work({ tx, attempt }),
  })
}

async function isPending(connection: Connection): Promise<boolean> {
  const { rows } = await connection.query(`select from states where state = 'pending'`, [])
  return rows.length === 1
}

/** What the job is for, and a note that it was done. */
async function activate({ tx }: { tx: Connection }): Promise<void> {
  await tx.query('insert into done values (1)', [])
  await tx.query('update accounts set credits = credits + 100', [])
  await tx.query(`update states set state = 'active'`, [])
}

const timesDone = (): Promise<number> => db.value('select count(*)::int from done')

/** Whether a session waits for another in such a statement. Workers also wait for each other, in others and shortly. */
const waitsIn = (statement: string): Promise<boolean> =>
  db.value(
    `select count(*) > 0 from pg_stat_activity
     where datname = current_database() and query like $1 and cardinality(pg_blocking_pids(pid)) > 0`,
    [statement],
  )

type Scenario = (layer: Layer) => Promise<boolean>

/** Runs one job after the other without a worker. Whether the work was done once, and no more. */
const oneAfterTheOther = async (
  definition: JobDefinition<typeof args>,
  play: (sluice: Sluice, run: () => Promise<unknown>) => Promise<unknown>,
): Promise<boolean> => {
  await using sluice = new Sluice({ database: db.workerUrl, jobs: [definition] })
  const jobs = testJobs(sluice)
  await play(sluice, async () => {
    await jobs.drain()
    await jobs.clock.travel('1s')
    await jobs.drain()
  })
  return (await timesDone()) === 1
}

const ranAndEnqueuedAgain: Scenario = (layer) => {
  const definition = job(layer, activate)
  return oneAfterTheOther(definition, async ({ jobs }, run) => {
    await jobs.enqueue(definition, args)
    await run()
    await jobs.enqueue(definition, args)
    await run()
  })
}

const twoEntriesInTheQueue: Scenario = (layer) => {
  const definition = job(layer, activate)
  return oneAfterTheOther(definition, async ({ jobs }, run) => {
    await jobs.enqueue(definition, args)
    await jobs.enqueue(definition, args)
    await run()
  })
}

/** The first half is done outside of the transaction, and the attempt fails behind it. */
const partial =
  (firstHalf: () => Promise<unknown>): Scenario =>
  (layer) => {
    const definition = job(layer, async ({ tx, attempt }) => {
      await firstHalf()
      if (attempt === 1) throw new Error('half of it is done')
      await tx.query(`update states set state = 'active'`, [])
    })
    return oneAfterTheOther(definition, async ({ jobs }, run) => {
      await jobs.enqueue(definition, args)
      await run()
    })
  }

const stateLater = partial(() => db.query('insert into done values (1)'))
const stateWithIt = partial(() =>
  db.query(`with note as (insert into done values (1)) update states set state = 'half done'`),
)

/** Two workers are in the middle of it at once: whether the second one was kept out until the first had ended. */
const twoWorkersRace: Scenario = async (layer) => {
  let [inside, most] = [0, 0]
  const gate = new EventEmitter()
  const opened = once(gate, 'open')
  const definition = job(layer, async (context) => {
    inside += 1
    most = Math.max(most, inside)
    await opened
    await activate(context)
    inside -= 1
  })
  const timeouts = { statement: '60s', lock: '60s', idleInTransaction: '60s' } as const
  const worker = () => startedWorker(db, [definition], { concurrency: 2 }, { timeouts })
  await using one = await worker()
  await using _two = await worker()
  await one.jobs.enqueue(definition, args)
  await until('the first is inside', () => inside === 1)
  await one.jobs.enqueue(definition, args)
  await until(
    'the second is inside, too, or waits',
    async () => inside === 2 || (await waitsIn('%accounts%for update%')),
    60_000,
  )
  gate.emit('open')
  await drained(db)
  return most === 1
}

/** Two enqueue at once, neither of whom sees the other's job yet: whether the queue holds one. */
const twoEnqueueAtOnce: Scenario = async (layer) => {
  const definition = job(layer, activate)
  const timeouts = { statement: '60s', lock: '60s' } as const
  await using sluice = new Sluice({ database: db.workerUrl, jobs: [definition], timeouts })
  await using user = await openClient(db.workerUrl)
  await user.query('begin')
  await sluice.jobs.enqueue(definition, args, { tx: user })
  let enqueued = false
  const scheduler = sluice.jobs.enqueue(definition, args).then(() => (enqueued = true))
  await until(
    'the second is done, or waits for the first',
    async () => enqueued || (await waitsIn('%sluice.enqueue(%')),
    60_000,
  )
  await user.query('commit')
  await scheduler
  return (await db.value('select count(*)::int from sluice.job')) === 1
}

const yes = { guard: true, lock: true, unique: true }
const no = { guard: false, lock: false, unique: false }

describe.each([
  ['it ran, and is enqueued again', ranAndEnqueuedAgain, { ...no, guard: true }, true],
  ['two workers race for a row', twoWorkersRace, { ...no, lock: true }, true],
  ['the queue has two entries', twoEntriesInTheQueue, { ...yes, lock: false }, true],
  ['half of it was done, and it is retried', stateLater, no, false],
  ['half of it was done together with its state', stateWithIt, { ...no, guard: true }, true],
  ['a scheduler and a user enqueue at once', twoEnqueueAtOnce, { ...no, unique: true }, true],
] as const)('%s', (_, scenario, protects, allProtect) => {
  test('without a layer it goes wrong', async () => {
    expect(await scenario('none')).toBe(false)
  })

  test.each(['guard', 'lock', 'unique'] as const)('%s alone', async (layer) => {
    expect(await scenario(layer)).toBe(protects[layer])
  })

  test('all three', async () => {
    expect(await scenario('all')).toBe(allProtect)
  })
})
