import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, leave, Sluice, snooze, type JobDefinition } from '../../src/index.ts'
import { testJobs, type TestJobs } from '../../src/testing/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { openClient, startedWorker } from '../support/jobs.ts'

let db: TestDatabase

beforeAll(async () => {
  db = await testDatabase()
  await db.query('create table accounts (id int primary key, state text not null, note text)')
})
afterAll(() => db[Symbol.asyncDispose]())
beforeEach(async () => {
  await db.query('truncate accounts, sluice.job, sluice.job_lock, sluice.job_claim')
  await db.query(`insert into accounts values (1, 'pending'), (2, 'active')`)
})

const args = z.object({ id: z.number() })
const perform = (): void => undefined

interface Place extends AsyncDisposable {
  sluice: Sluice
  jobs: TestJobs
}

function place(...definitions: JobDefinition[]): Place {
  const sluice = new Sluice({ database: db.workerUrl, jobs: definitions })
  return { sluice, jobs: testJobs(sluice), [Symbol.asyncDispose]: () => sluice.stop() }
}

describe('a guard', () => {
  test.each([true, false])('lets in or leaves, and leaving is success (transaction: %s)', async (transaction) => {
    const ran: number[] = []
    const definition = defineJob({
      name: 'guarded',
      args,
      guard: async ({ args: { id }, db: asked }) =>
        (await asked.query(`select from accounts where id = $1 and state = 'pending'`, [id])).rows.length > 0,
      transaction: transaction as true,
      perform: ({ args: { id } }) => void ran.push(id),
    })
    await using worker = await startedWorker(db, [definition])
    const left = await worker.jobs.enqueue(definition, { id: 2 })
    expect(await worker.events.event('job.left')).toEqual({
      jobId: left.id,
      name: 'guarded',
      reason: 'nothing to do',
    })
    await worker.jobs.enqueue(definition, { id: 1 })
    await worker.events.event('job.finished', { nth: 2 })
    expect(ran).toEqual([1])
    expect(await worker.jobs.get(left.id)).toMatchObject({ state: 'succeeded' })
    expect(await testJobs(worker.sluice).run(definition, { id: 2 })).toMatchObject({
      ending: { kind: 'succeeded', left: 'nothing to do' },
    })
  })

  test('that throws fails the attempt', async () => {
    const definition = defineJob({
      name: 'guarded',
      guard: () => Promise.reject(new Error('cannot tell')),
      retry: false,
      perform,
    })
    await using at = place(definition)
    await at.sluice.jobs.enqueue(definition)
    expect(await at.jobs.drain()).toMatchObject([{ ending: { kind: 'dead', error: { message: 'cannot tell' } } }])
  })

  test('sees the row of the lock, as it is under the lock', async () => {
    const ran: number[] = []
    const definition = defineJob({
      name: 'both',
      args,
      transaction: true,
      lock: { table: 'accounts', key: ({ id }) => id },
      guard: ({ row }) => row?.['state'] === 'pending',
      perform: ({ args: { id } }) => void ran.push(id),
    })
    await using at = place(definition)
    await at.sluice.jobs.enqueueMany(definition, [{ id: 1 }, { id: 2 }, { id: 3 }])
    expect((await at.jobs.drain()).map(({ ending }) => ending)).toEqual([
      { kind: 'succeeded' },
      { kind: 'succeeded', left: 'nothing to do' },
      { kind: 'succeeded', left: 'its row is not there' },
    ])
    expect(ran).toEqual([1])
  })
})

test('a lock that others hold sends the job back, which counts as no attempt', async () => {
  const definition = defineJob({
    name: 'locked',
    args,
    transaction: true,
    retry: false,
    lock: { table: 'accounts', key: ({ id }) => id, wait: '50ms' },
    async perform({ tx, args: { id } }) {
      const { rows } = await tx.query(`select current_setting('lock_timeout') as t`, [])
      await tx.query('update accounts set note = $2 where id = $1', [id, rows[0]?.['t']])
    },
  })
  await using at = place(definition)
  await using other = await openClient(db.workerUrl)
  await other.query('begin; select from accounts where id = 1 for update')
  await at.sluice.jobs.enqueue(definition, { id: 1 })
  // One attempt: on a slow machine the next one is due before the drain has ended.
  expect(await at.jobs.drain({ limit: 1 })).toMatchObject([
    {
      ending: {
        kind: 'retried',
        reason: 'others hold the lock of its row, which counts as no attempt',
        error: { name: 'RowBusy' },
      },
    },
  ])
  await other.query('rollback')
  await at.jobs.clock.travel('1m')
  expect(await at.jobs.drain()).toMatchObject([{ ending: { kind: 'succeeded' } }])
  // The wait is for this lock alone; the handler has the usual limit.
  expect(await db.value('select note from accounts where id = 1')).toBe('5s')
})

test('a handler may leave by itself', async () => {
  const definition = defineJob({ name: 'leaves', perform: () => leave('seen before') })
  await using at = place(definition)
  await at.sluice.jobs.enqueue(definition)
  expect(await at.jobs.drain()).toMatchObject([{ ending: { kind: 'succeeded', left: 'seen before' } }])
})

const sends = (effect: (attempt: number) => unknown): JobDefinition<{ id: number }> =>
  defineJob({
    name: 'sends',
    args,
    transaction: true,
    retry: { attempts: 3, wait: '1ms' },
    effect: ({ job }) => effect(job.attempt),
    async perform({ tx, effect: given, args: { id } }) {
      await tx.query('update accounts set note = $2 where id = $1', [id, given])
    },
  })
const note = (): Promise<string> => db.value('select note from accounts where id = 1')

describe('an effect', () => {
  test('comes before the transaction, and what it gives is written down in it', async () => {
    const definition = sends(async (attempt) => {
      // Outside of the transaction: a transaction that waits for the world would show here.
      const open = `select count(*)::int from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`
      return `attempt ${attempt}, ${await db.value<number>(open)} open`
    })
    await using at = place(definition)
    await at.sluice.jobs.enqueue(definition, { id: 1 })
    expect(await at.jobs.drain()).toMatchObject([{ ending: { kind: 'succeeded' } }])
    expect(await note()).toBe('attempt 1, 0 open')
    expect(await at.jobs.run(definition, { id: 1 })).toMatchObject({ ending: { kind: 'succeeded' } })
  })

  test('that fails is retried, and one that gives an outcome ends the attempt without the transaction', async () => {
    const given = ['third', snooze('5m')]
    const definition = sends((attempt) => {
      if (attempt === 1) throw new Error('not now')
      return given.pop()
    })
    await using at = place(definition)
    await at.sluice.jobs.enqueue(definition, { id: 1 })
    const kinds: string[] = []
    for (let i = 0; i < 3; i++) {
      kinds.push(...(await at.jobs.drain()).map(({ ending }) => ending.kind))
      await at.jobs.clock.travel('5m')
    }
    expect(kinds).toEqual(['retried', 'snoozed', 'succeeded'])
    expect(await note()).toBe('third')
    const leaving = sends(() => leave('nothing there'))
    expect(await at.jobs.run(leaving, { id: 1 })).toMatchObject({ ending: { left: 'nothing there' } })
  })
})

const key = (): number => 1

test.each([
  ['a lock without a transaction', { lock: { table: 'a', key } }, 'transaction: true'],
  ['a lock without a table', { transaction: true, lock: { key } }, '"lock.table"'],
  ['a lock without a key', { transaction: true, lock: { table: 'a', key: 1 } }, '"lock.key"'],
  ['a lock by nothing', { transaction: true, lock: { table: 'a', key, by: '' } }, '"lock.by"'],
  ['a lock with a bad wait', { transaction: true, lock: { table: 'a', key, wait: 'long' } }, '"lock.wait"'],
  ['a lock with an unknown option', { transaction: true, lock: { table: 'a', kee: 1 } }, 'Did you mean "key"?'],
  ['a lock that is none', { transaction: true, lock: 'accounts' }, '"lock" must be'],
  ['a guard that is no function', { guard: true }, '"guard" must be'],
  ['an effect without a transaction', { effect: () => 1 }, '"effect" must be'],
])('%s is refused', (_, wrong, complaint) => {
  expect(() => defineJob({ name: 'wrong', perform, ...(wrong as object) })).toThrow(
    expect.objectContaining({ code: 'DEFINITION_INVALID', message: expect.stringContaining(complaint) }),
  )
})
