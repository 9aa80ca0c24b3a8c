import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { drained, jobWorker, openClient, withLedger } from '../support/jobs.ts'
import { until } from '../support/wait.ts'

const plain = defineJob({ name: 'plain', perform: () => undefined })

/** Somebody who met a taken unique key in a transaction that stays open, while others enqueue. */
async function meeting(freed: 'start' | 'success') {
  const db = await testDatabase()
  const single = defineJob({ name: 'single', unique: { until: freed }, perform: () => sleep(200) })
  const worker = jobWorker(db, [single, plain])
  const { id } = await worker.jobs.enqueue(single)
  const client = await openClient(db.url)
  await client.query('begin')
  const met = await worker.jobs.enqueue(single, undefined, { tx: client })
  expect(met).toEqual({ id, duplicate: true })
  await worker.jobs.enqueueMany(
    plain,
    Array.from({ length: 20 }, () => undefined),
  )
  await worker.sluice.start()
  const close = async (): Promise<void> => {
    await client.end()
    await worker[Symbol.asyncDispose]()
    await db[Symbol.asyncDispose]()
  }
  return { db, worker, client, id, [Symbol.asyncDispose]: close }
}

test('a transaction that met a unique key which is freed by success, and stays open, holds nobody up', async () => {
  await using at = await meeting('success')
  await drained(at.db)
  expect(at.worker.events.count('connection.lost')).toBe(0)
  expect(await at.db.value('select count(*)::int from sluice.job_lock')).toBe(0)
})

test('a transaction that met a unique key which is freed at the start, and stays open, holds up that job alone', async () => {
  await using at = await meeting('start')
  await until(
    'the others have run',
    async () => (await at.db.value('select count(*)::int from sluice.job_history')) === 20,
  )
  expect((await at.worker.jobs.get(at.id)).state).toBe('waiting')
  await at.client.query('rollback')
  await drained(at.db)
  expect(at.worker.events.count('connection.lost')).toBe(0)
  expect(await at.db.value('select count(*)::int from sluice.job_lock')).toBe(0)
})

test('a key that has expired and is being taken over keeps its old job from nothing', async () => {
  await using db = await testDatabase()
  const single = defineJob({ name: 'single', unique: { for: '1ms', until: 'success' }, perform: () => undefined })
  await using worker = jobWorker(db, [single, plain])
  const first = await worker.jobs.enqueue(single)
  await using client = await openClient(db.url)
  await client.query('begin')
  await until('the key has expired', async () => db.value('select bool_and(expires_at < now()) from sluice.job_lock'))

  const second = await worker.jobs.enqueue(single, undefined, { tx: client })

  expect(second.duplicate).toBe(false)
  await worker.sluice.start()
  await drained(db)
  expect((await worker.jobs.get(first.id)).state).toBe('succeeded')
  await client.query('commit')
  await until('the second one has run', async () => (await worker.jobs.get(second.id)).state === 'succeeded')
  expect(await db.value('select count(*)::int from sluice.job_lock')).toBe(0)
})

test('a connection that breaks under a transactional job is no attempt of that job', async () => {
  await using db = await withLedger(await testDatabase())
  let [runs, breaks] = [0, 2]
  const fragile = defineJob({
    name: 'fragile',
    transaction: true,
    retry: false,
    async perform({ tx }) {
      runs += 1
      await tx.query(`insert into ledger (note) values ('done')`, [])
      if (breaks-- > 0) await tx.query('select pg_terminate_backend(pg_backend_pid())', [])
    },
  })
  await using worker = jobWorker(db, [fragile])
  const { id } = await worker.jobs.enqueue(fragile)
  await worker.sluice.start()
  await drained(db)

  const { state, attempt, attempts } = await worker.jobs.get(id)

  expect({ state, attempt, runs }).toEqual({ state: 'succeeded', attempt: 1, runs: 3 })
  expect(attempts.map(({ verdict, reason }) => `${verdict}: ${reason}`)).toEqual(
    Array.from({ length: 2 }, () => 'retry: its connection to the database broke, which counts as no attempt'),
  )
  expect(await db.value('select count(*)::int from ledger')).toBe(1)
})

test('after a week without any worker, jobs can be ended by a person and by a worker', async () => {
  await using db = await testDatabase()
  await using worker = jobWorker(db, [plain])
  const [first, second] = await worker.jobs.enqueueMany(plain, [undefined, undefined])
  for (const parent of ['job_history', 'job_dead', 'job_attempt']) {
    const parts = await db.query<{ name: string }>(
      `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'sluice.${parent}'::regclass`,
    )
    for (const { name } of parts) await db.query(`drop table ${name}`)
  }

  expect((await worker.jobs.cancel(first?.id ?? 0)).state).toBe('cancelled')
  await worker.sluice.start()
  await drained(db)
  expect((await worker.jobs.get(second?.id ?? 0)).state).toBe('succeeded')
})
